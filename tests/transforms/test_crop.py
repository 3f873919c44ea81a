"""Crops of the image's own size, and flips: each pixel, the share left, limits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from softaug import DrawKey, SoftCrop, SoftLabel, UniformCrop
from softaug.transforms import CropParams, HorizontalFlip, Mixture, Uniform
from tests.transforms.pictures import DTYPES, coded, drawn, key_of, pictures


def cropped(image, dx, dy, fill):
    """The crop pixel by pixel, as its definition says; `fill` has one number a channel."""
    channels, height, width = image.shape
    out = torch.empty_like(image)
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                inside = 0 <= y + dy < height and 0 <= x + dx < width
                out[c, y, x] = image[c, y + dy, x + dx] if inside else fill[c]
    return out


def params_of(*offsets):
    dx, dy = torch.tensor(offsets).T
    return CropParams(dx, dy, torch.zeros(len(offsets)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", [(0,), (7,), (200, 0, 99)], ids=str)
@pytest.mark.parametrize(("height", "width"), [(3, 5), (4, 4), (6, 1), (1, 1)])
def test_every_pixel_of_every_offset_is_the_right_one(height, width, fill, dtype):
    """Offsets beyond the image too, which a replay may have: they leave only fill."""
    reach = [(x, y) for x in range(-width - 1, width + 2) for y in range(-height - 1, height + 2)]
    reach += [(40, 0), (0, -40)]
    image, params = coded(3, height, width, dtype), params_of(*reach)
    out = SoftCrop(fill=fill).apply(image.expand(len(reach), *image.shape), params)
    expected = [cropped(image, *offset, fill * (3 // len(fill))) for offset in reach]
    assert torch.equal(out, torch.stack(expected))
    assert out.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_mean_is_each_images_own_channel_means(dtype):
    images = torch.stack([coded(2, 3, 4), 2 * coded(2, 3, 4)]).to(dtype)
    out = SoftCrop(fill="mean").apply(images, params_of((3, 0), (3, 0)))
    means = images.double().mean((-2, -1))  # 6.5, 18.5; 13, 37
    expected = means.round() if dtype == torch.uint8 else means
    filled = out[..., 1:].double()
    assert torch.equal(filled, expected[..., None, None].expand_as(filled))


def test_fill_mean_of_uint8_is_rounded_to_the_nearest():
    image = torch.tensor([[[0, 1, 1, 1]]], dtype=torch.uint8)  # mean 0.75
    assert SoftCrop(fill="mean").apply(image, params_of((-3, 0))).tolist() == [[[1, 1, 1, 0]]]


@pytest.mark.parametrize(
    ("crop", "num_offsets"), [(SoftCrop(sigma=1.0), 9 * 5), (UniformCrop(max_shift=2), 5 * 5)]
)
def test_retained_counts_the_pixels_left_for_every_offset(crop, num_offsets):
    images, params = coded(1, 3, 5).expand(3000, 1, 3, 5), drawn(crop, 3000, 3, 5)
    out, label = crop(images, torch.zeros(3000).long(), key=key_of(3000))
    share = (out != 0).flatten(1).sum(1) / 15
    assert len(set(zip(params.dx.tolist(), params.dy.tolist(), strict=True))) == num_offsets
    torch.testing.assert_close(params.visible.float(), share)
    torch.testing.assert_close(label.retained, 1 - (1 - share) ** 2)


@pytest.mark.parametrize("crop", [UniformCrop(0), SoftCrop(sigma=1e-6)], ids=repr)
def test_the_least_crop_leaves_the_images_alone(crop):
    images = coded(3, 4, 5).expand(100, 3, 4, 5)
    out, label = crop(images, torch.zeros(100).long(), key=key_of(100))
    assert torch.equal(out, images)
    assert bool((label.retained == 1).all())


def test_huge_sigma_spreads_the_offsets_over_the_image():
    assert drawn(SoftCrop(sigma=1e6), 1000, 9, 9).dx.unique().tolist() == list(range(-8, 9))


def test_a_mixture_gives_a_share_of_the_images_the_far_crop_and_the_others_the_mild_one():
    near, far, both = (
        drawn(SoftCrop(sigma)).dx for sigma in (0.02, 0.3, Mixture(0.02, 0.3, share=0.25))
    )
    is_far, is_near = both == far, both == near
    assert bool((is_far | is_near).all())
    assert float((~is_near).sum() / (near != far).sum()) == pytest.approx(0.25, abs=0.03)
    whole = drawn(SoftCrop(Mixture(0.0, 0.3))).visible == 1
    assert float(whole.double().mean()) == pytest.approx(0.5, abs=0.03)


def test_a_uniform_law_has_the_mean_offset_of_half_its_most():
    fixed, law = (drawn(SoftCrop(sigma), 50_000, 500, 500) for sigma in (0.1, Uniform(0.1)))
    shifts = [params.dx.double().abs().mean() for params in (fixed, law)]
    assert float(shifts[1] / shifts[0]) == pytest.approx(0.5, abs=0.01)
    assert float(law.dx.double().std()) == pytest.approx(50 / 3**0.5, rel=0.02)


@given(
    st.tuples(*[st.integers(1, n) for n in (4, 4, 9, 9)]),
    st.sampled_from(DTYPES),
    st.floats(1e-3, 50),
    st.floats(0.1, 10),
    st.sampled_from([0, 3, "mean"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_crops_of_any_size_keep_shape_type_and_range(shape, dtype, sigma, k, fill, seed):
    images = torch.randint(1, 200, shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    crop, key = SoftCrop(sigma, k, fill), DrawKey(seed, 0, torch.arange(shape[0]))
    out, label = crop(images, torch.zeros(shape[0]).long(), key=key)
    params = crop.draw(images, key=key)
    assert (out.shape, out.dtype) == (images.shape, dtype)
    assert bool(((params.visible > 0) & (params.visible <= 1)).all())
    assert bool(((label.retained >= 0) & (label.retained <= 1)).all())


def test_images_that_need_a_gradient_get_the_same_pixels_without_overlapping_windows():
    images = torch.rand(6, 3, 7, 9)
    params = SoftCrop(sigma=0.5).draw(images)
    expected = SoftCrop(fill=0.5).apply(images, params)
    out = SoftCrop(fill=0.5).apply(images.requires_grad_(), params)
    assert torch.equal(out, expected)
    out.sum().backward()
    assert torch.equal(images.grad.sum((1, 2, 3)) / (3 * 63), params.visible.float())


def test_each_image_is_flipped_or_left_alone():
    flip, images = HorizontalFlip(), pictures()
    soft = SoftLabel(torch.arange(12), torch.linspace(0, 1, 12))
    out, label = flip(images, soft, key=key_of(12))
    flipped = flip.draw(images, key=key_of(12)).flipped
    assert 0 < int(flipped.sum()) < 12
    assert torch.equal(out[flipped], images[flipped].flip(-1))
    assert torch.equal(out[~flipped], images[~flipped])
    assert torch.equal(label.retained, soft.retained)


def test_alternating_flips_show_every_image_both_ways_in_two_epochs():
    flip, images = HorizontalFlip(alternate=True), torch.zeros(2000, 1, 1, 1)
    epochs = [flip.draw(images, key=key_of(2000, epoch=epoch)).flipped for epoch in range(4)]
    first = HorizontalFlip().draw(images, key=key_of(2000)).flipped
    for epoch, flipped in enumerate(epochs):
        assert torch.equal(flipped, first ^ bool(epoch % 2))
    with pytest.raises(ValueError, match=r"HorizontalFlip: alternate needs a DrawKey, .* NoneType"):
        flip(pictures(), torch.arange(12))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_the_share_of_flips_is_p(p):
    share = drawn(HorizontalFlip(p), 20_000, 1, 1).flipped.double().mean()
    assert float(share) == pytest.approx(p, abs=4 * (p * (1 - p) / 20_000) ** 0.5)
