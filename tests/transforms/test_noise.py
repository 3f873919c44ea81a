import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softaug import DrawKey, SoftNoise
from softaug.draws import draw_normal_field
from softaug.transforms import NoiseParams

DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def params_of(*alpha):
    strength = torch.tensor(alpha, dtype=torch.float64)
    return NoiseParams(strength, torch.arange(len(alpha)), 1 - strength.abs())


def test_noise_is_alpha_times_a_normal_field_of_sd_noise_sd():
    images, params = torch.rand(2, 3, 4, 5), params_of(0.5, -0.2)
    out = SoftNoise(noise_sd=0.3).apply(images, params)
    field = draw_normal_field(params.field, 60).view(images.shape)
    expected = images + 0.3 * params.alpha.view(2, 1, 1, 1).float() * field
    torch.testing.assert_close(out, expected)


def test_added_noise_is_normal_and_unrelated_between_pixels_channels_and_samples():
    out = SoftNoise(noise_sd=0.5).apply(torch.zeros(4, 3, 50, 50), params_of(0.5, 0.5, 0.5, 0.5))
    noise = out.double() / 0.25
    assert stats.kstest(noise.flatten().numpy(), "norm").pvalue > 1e-3
    shifts = [noise.roll(1, dim) for dim in range(4)]
    related = [torch.corrcoef(torch.stack([noise, s]).flatten(1))[0, 1].abs() for s in shifts]
    assert max(related) < 4 / noise.numel() ** 0.5


def test_uint8_is_measured_in_255_rounded_and_clamped():
    images, params = torch.tensor([0, 128, 255], dtype=torch.uint8).view(1, 1, 1, 3), params_of(0.9)
    images = images.expand(1, 1, 200, 3)
    out = SoftNoise(noise_sd=1.0).apply(images, params)
    field = draw_normal_field(params.field, 600).view(1, 1, 200, 3)
    expected = (images + 255 * 0.9 * field).round().clamp(0, 255)
    assert (out.double() - expected).abs().max() <= 1  # a tie may round either way
    assert (out != expected).float().mean() < 0.01
    assert {0, 255} <= set(out.flatten().tolist())


def test_floats_are_not_clamped():
    out = SoftNoise(noise_sd=1.0).apply(torch.zeros(1, 1, 20, 20), params_of(0.9))
    assert out.min() < 0


def test_visible_is_what_the_strength_leaves():
    noise = SoftNoise(sigma=0.5)
    images, key = torch.zeros(100, 1, 2, 2), DrawKey(0, 0, torch.arange(100))
    params = noise.draw(images, key=key)
    _, label = noise(images, torch.zeros(100).long(), key=key)
    torch.testing.assert_close(params.visible, 1 - params.alpha.abs())
    torch.testing.assert_close(label.retained.double(), params.visible, rtol=0, atol=1e-6)  # k = 1


@given(
    st.tuples(*[st.integers(1, 5) for _ in range(4)]),
    st.sampled_from(DTYPES),
    st.floats(1e-3, 50),
    st.floats(1e-3, 5),
    st.integers(0, 2**63 - 1),
)
def test_noise_of_any_setting_keeps_shape_type_and_range(shape, dtype, sigma, noise_sd, seed):
    images, key = torch.ones(shape, dtype=dtype), DrawKey(seed, 0, torch.arange(shape[0]))
    out, label = SoftNoise(sigma, noise_sd)(images, torch.zeros(shape[0]).long(), key=key)
    assert (out.shape, out.dtype) == (images.shape, dtype)
    assert bool(out.double().isfinite().all())
    assert bool(((label.retained >= 0) & (label.retained <= 1)).all())
