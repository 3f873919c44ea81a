"""Erased rectangles and added noise: each pixel, the share left, the laws of the draws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softaug import DrawKey, SoftCutout, SoftErase, SoftNoise
from softaug.draws import draw_normal_field
from softaug.transforms import EraseParams, NoiseParams
from tests.transforms.pictures import DTYPES, coded, drawn, key_of


def erased(image, top, left, height, width, fill):
    """The erasure pixel by pixel, as its definition says."""
    out = image.clone()
    for c in range(image.shape[0]):
        for y in range(top, top + height):
            for x in range(left, left + width):
                out[c, y, x] = fill
    return out


def every_rectangle(height, width):
    """One sample for each rectangle inside the image, the empty ones included."""
    boxes = [
        (top, left, tall, wide)
        for top in range(height)
        for left in range(width)
        for tall in range(height - top + 1)
        for wide in range(width - left + 1)
    ]
    return EraseParams(*torch.tensor(boxes).T, torch.zeros(len(boxes)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("kind", "fill"), [(SoftErase, 200), (SoftCutout, 0)])
def test_every_pixel_of_every_rectangle_is_the_right_one(kind, fill, dtype):
    image, params = coded(3, 3, 4, dtype), every_rectangle(3, 4)
    out = kind(fill=fill).apply(image.expand(len(params.top), *image.shape), params)
    boxes = torch.stack(params[:4], dim=1).tolist()
    assert torch.equal(out, torch.stack([erased(image, *box, fill) for box in boxes]))
    assert out.dtype == dtype


@pytest.mark.parametrize(
    "transform",
    [SoftErase(area=(0.01, 1.0)), SoftErase(p=0.5), SoftCutout(3), SoftCutout(4), SoftCutout(99)],
    ids=repr,
)
@pytest.mark.parametrize(("height", "width"), [(7, 9), (1, 5)])
def test_retained_counts_the_pixels_left(transform, height, width):
    images = coded(2, height, width).expand(500, 2, height, width)
    out, label = transform(images, torch.zeros(500).long(), key=key_of(500))
    share = (out[:, 0] != 0).flatten(1).sum(1) / (height * width)
    torch.testing.assert_close(drawn(transform, 500, height, width).visible.float(), share)
    torch.testing.assert_close(label.retained, 1 - (1 - share) ** 2)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 8, 50])
def test_cutout_is_a_square_around_any_pixel_clipped_at_the_border(length):
    params = drawn(SoftCutout(length), 3000, 5, 6)
    for edge, start, size in ((5, params.top, params.height), (6, params.left, params.width)):
        first = [center - length // 2 for center in range(edge)]
        expected = {(max(f, 0), min(f + length, edge)) for f in first}
        assert set(zip(start.tolist(), (start + size).tolist(), strict=True)) == expected


def test_places_are_even_over_where_the_rectangle_fits():
    params = drawn(SoftCutout(1), 20_000, 5, 6)
    cells = torch.bincount(params.top * 6 + params.left, minlength=30)
    assert stats.chisquare(cells.numpy()).pvalue > 1e-3
    params = drawn(SoftErase(area=(0.25, 0.25), ratio=(1, 1)), 20_000, 8, 8)
    assert params.height.unique().tolist() == params.width.unique().tolist() == [4]
    cells = torch.bincount(params.top * 5 + params.left, minlength=25)
    assert stats.chisquare(cells.numpy()).pvalue > 1e-3


def test_erased_share_is_even_in_area_and_shape_in_log_ratio():
    params = drawn(SoftErase(area=(0.1, 0.3), ratio=(0.5, 2.0)), 3000, 500, 400)
    share, ratio = 1 - params.visible, (params.height / params.width).double().log()
    assert stats.kstest(share.numpy(), stats.uniform(0.1, 0.2).cdf).pvalue > 1e-3
    law = stats.uniform(math.log(0.5), math.log(4))
    assert stats.kstest(ratio.numpy(), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_share_p_of_the_images_is_erased(p):
    params = drawn(SoftErase(p=p), 10_000, 32, 32)
    assert (params.height > 0).double().mean().item() == pytest.approx(p, abs=0.02)
    assert bool((params.visible[params.height == 0] == 1).all())


def test_a_rectangle_that_does_not_fit_is_cut_to_the_image():
    params = drawn(SoftErase(area=(1, 1), ratio=(100, 100)), 4, 10, 10)
    assert (params.height.tolist(), params.width.tolist()) == ([10] * 4, [1] * 4)
    assert params.visible.tolist() == pytest.approx([0.9] * 4)
    assert SoftErase(area=(1, 1), ratio=(1, 1))(torch.ones(1, 4, 4), 5)[1] == (5, 0.0)


@pytest.mark.parametrize(("share", "edge"), [(1.0, 8), (0.25, 4), (0.1, 3), (0.001, 1)])
def test_a_share_of_the_strength_is_a_smaller_area(share, edge):
    params = drawn(SoftCutout(8, strength=share), 500, 32, 32)
    assert int(params.height.max()) == int(params.width.max()) == edge
    visible = drawn(SoftErase((0.4, 0.4), (1, 1), strength=share), 9, 100, 100).visible
    assert (1 - visible).tolist() == pytest.approx([0.4 * share] * 9, abs=0.01)


@given(
    st.tuples(*[st.integers(1, n) for n in (4, 4, 9, 9)]),
    st.sampled_from(DTYPES),
    st.sampled_from(
        [SoftErase((0.5, 1), (0.01, 100), 0.5), SoftCutout(3, 5), SoftNoise(), SoftNoise(50, 5.0)]
    ),
    st.integers(0, 2**63 - 1),
)
def test_images_of_any_size_keep_shape_type_and_range(shape, dtype, transform, seed):
    images, key = torch.ones(shape, dtype=dtype), DrawKey(seed, 0, torch.arange(shape[0]))
    out, label = transform(images, torch.zeros(shape[0]).long(), key=key)
    assert (out.shape, out.dtype) == (images.shape, dtype)
    assert bool(out.double().isfinite().all())
    assert bool(((label.retained >= 0) & (label.retained <= 1)).all())


def noise_of(*alpha):
    strength = torch.tensor(alpha, dtype=torch.float64)
    return NoiseParams(strength, torch.arange(len(alpha)), 1 - strength.abs())


def test_noise_is_alpha_times_a_normal_field_of_sd_noise_sd_and_floats_are_not_clamped():
    images, params = torch.rand(2, 3, 4, 5), noise_of(0.5, -0.2)
    out = SoftNoise(noise_sd=3.0).apply(images, params)
    field = draw_normal_field(params.field, 60).view(images.shape)
    expected = images + 3.0 * params.alpha.view(2, 1, 1, 1).float() * field
    torch.testing.assert_close(out, expected)
    assert out.min() < 0


def test_added_noise_is_normal_and_unrelated_between_pixels_channels_and_samples():
    out = SoftNoise(noise_sd=0.5).apply(torch.zeros(4, 3, 50, 50), noise_of(0.5, 0.5, 0.5, 0.5))
    noise = out.double() / 0.25
    assert stats.kstest(noise.flatten().numpy(), "norm").pvalue > 1e-3
    shifts = [noise.roll(1, dim) for dim in range(4)]
    related = [torch.corrcoef(torch.stack([noise, s]).flatten(1))[0, 1].abs() for s in shifts]
    assert max(related) < 4 / noise.numel() ** 0.5


def test_noise_of_uint8_is_measured_in_255_rounded_and_clamped():
    images = torch.tensor([0, 128, 255], dtype=torch.uint8).expand(1, 1, 200, 3)
    params = noise_of(0.9)
    out = SoftNoise(noise_sd=1.0).apply(images, params)
    field = draw_normal_field(params.field, 600).view(1, 1, 200, 3)
    expected = (images + 255 * 0.9 * field).round().clamp(0, 255)
    assert (out.double() - expected).abs().max() <= 1  # a tie may round either way
    assert (out != expected).float().mean() < 0.01
    assert {0, 255} <= set(out.flatten().tolist())


def test_alpha_is_a_truncated_normal_and_what_it_leaves_is_visible():
    params = drawn(SoftNoise(sigma=0.5), 50_000, 2, 2)
    law = stats.truncnorm(-2, 2, scale=0.5)
    assert stats.kstest(params.alpha.numpy(), law.cdf).pvalue > 1e-3
    torch.testing.assert_close(params.visible, 1 - params.alpha.abs())
