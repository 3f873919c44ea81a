import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from softaug import DrawKey, SoftCrop, UniformCrop
from softaug.transforms import CropParams

DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]
SIZES = [(3, 5), (5, 3), (4, 4), (1, 6), (1, 1)]


def coded(channels, height, width, dtype=torch.float32):
    """An image whose every pixel names its place: 1, 2, 3, ..."""
    count = channels * height * width
    return (torch.arange(count) + 1).view(channels, height, width).to(dtype)


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


def every_offset(height, width):
    """Parameters of one sample for each offset that leaves some of the image."""
    pairs = [(x, y) for x in range(1 - width, width) for y in range(1 - height, height)]
    dx, dy = torch.tensor(pairs).T
    return CropParams(dx, dy, torch.zeros(len(pairs)))


def repeat(image, params):
    return image.expand(len(params.dx), *image.shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_every_pixel_of_every_offset_is_the_right_one(height, width, channels, dtype):
    image, params = coded(channels, height, width, dtype), every_offset(height, width)
    out = SoftCrop(fill=0).apply(repeat(image, params), params)
    expected = [cropped(image, *o, [0, 0, 0]) for o in zip(params.dx, params.dy, strict=True)]
    assert torch.equal(out, torch.stack(expected))
    assert out.dtype == dtype


@pytest.mark.parametrize("fill", [7, (200, 0, 99)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_enters_where_the_image_leaves(fill, dtype):
    image, params = coded(3, 3, 4, dtype), every_offset(3, 4)
    out = SoftCrop(fill=fill).apply(repeat(image, params), params)
    numbers = fill if isinstance(fill, tuple) else (fill,) * 3
    expected = [cropped(image, *o, numbers) for o in zip(params.dx, params.dy, strict=True)]
    assert torch.equal(out, torch.stack(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_mean_is_each_images_own_channel_means(dtype):
    images = torch.stack([coded(2, 3, 4), 2 * coded(2, 3, 4)]).to(dtype)
    params = CropParams(torch.tensor([3, 3]), torch.tensor([0, 0]), torch.zeros(2))
    out = SoftCrop(fill="mean").apply(images, params)
    means = images.double().mean((-2, -1))  # 6.5, 18.5; 13, 37
    filled = out[..., 1:].double()
    expected = means.round() if dtype == torch.uint8 else means
    assert torch.equal(filled, expected[..., None, None].expand_as(filled))


def test_fill_mean_of_uint8_is_rounded_to_the_nearest():
    image = torch.tensor([[[0, 1, 1, 1]]], dtype=torch.uint8)  # mean 0.75
    params = CropParams(torch.tensor([-3]), torch.tensor([0]), torch.ones(1))
    assert SoftCrop(fill="mean").apply(image, params).tolist() == [[[1, 1, 1, 0]]]


def keyed(transform, images, first=0):
    index = torch.arange(first, first + len(images))
    return transform(images, torch.zeros(len(images)).long(), key=DrawKey(0, 0, index))


@pytest.mark.parametrize(
    ("crop", "num_offsets"), [(SoftCrop(sigma=1.0), 9 * 5), (UniformCrop(max_shift=2), 5 * 5)]
)
def test_retained_counts_the_pixels_left_for_every_offset(crop, num_offsets):
    images = coded(1, 3, 5).expand(3000, 1, 3, 5)
    params = crop.draw(images, key=DrawKey(0, 0, torch.arange(3000)))
    out, label = keyed(crop, images)
    share = (out != 0).flatten(1).sum(1) / 15
    assert len(set(zip(params.dx.tolist(), params.dy.tolist(), strict=True))) == num_offsets
    torch.testing.assert_close(params.visible.float(), share)
    torch.testing.assert_close(label.retained, 1 - (1 - share) ** 2)


def test_positive_offsets_move_the_window_right_and_down():
    params = CropParams(torch.tensor([1]), torch.tensor([2]), torch.zeros(1))
    out = SoftCrop().apply(coded(1, 3, 3), params)
    assert out.tolist() == [[[8, 9, 0], [0, 0, 0], [0, 0, 0]]]


@pytest.mark.parametrize("offset", [-40, -5, 5, 6, 9, 40])
@pytest.mark.parametrize("axis", ["dx", "dy"])
def test_replaying_an_offset_beyond_the_image_leaves_only_fill(offset, axis):
    params = CropParams(torch.zeros(2).long(), torch.zeros(2).long(), torch.zeros(2))
    params = params._replace(**{axis: torch.tensor([offset, offset])})
    out = SoftCrop(fill=9).apply(coded(2, 5, 5).expand(2, 2, 5, 5), params)
    assert bool((out == 9).all())


def test_k_infinite_keeps_the_label_hard():
    _, label = keyed(SoftCrop(sigma=1.0, k=math.inf), torch.ones(100, 1, 8, 8))
    assert label.retained.tolist() == [1.0] * 100


def test_reach_zero_leaves_the_images_alone():
    images = coded(3, 4, 5).expand(4, 3, 4, 5)
    out, label = keyed(UniformCrop(max_shift=0), images)
    assert torch.equal(out, images)
    assert label.retained.tolist() == [1.0] * 4


def test_tiny_sigma_leaves_the_images_alone():
    images = coded(3, 4, 5).expand(100, 3, 4, 5)
    out, label = keyed(SoftCrop(sigma=1e-6), images)
    assert torch.equal(out, images)
    assert bool((label.retained == 1).all())


def test_huge_sigma_spreads_the_offsets_over_the_image():
    params = SoftCrop(sigma=1e6).draw(
        torch.ones(1000, 1, 9, 9), key=DrawKey(0, 0, torch.arange(1000))
    )
    assert params.dx.unique().tolist() == list(range(-8, 9))


def test_gradient_reaches_the_pixels_that_stay():
    image = torch.ones(1, 1, 1, 3, requires_grad=True)
    params = CropParams(torch.tensor([1]), torch.tensor([0]), torch.ones(1))
    SoftCrop().apply(image, params).sum().backward()
    assert image.grad.flatten().tolist() == [0, 1, 1]


@given(
    st.tuples(*[st.integers(1, n) for n in (4, 4, 9, 9)]),
    st.sampled_from(DTYPES),
    st.floats(1e-3, 50),
    st.floats(0.1, 10),
    st.sampled_from([0, 3, "mean"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_crops_of_any_size_keep_shape_type_and_pixels(shape, dtype, sigma, k, fill, seed):
    images = torch.randint(1, 200, shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    crop, key = SoftCrop(sigma, k, fill), DrawKey(seed, 0, torch.arange(shape[0]))
    out, label = crop(images, torch.zeros(shape[0]).long(), key=key)
    params = crop.draw(images, key=key)
    assert (out.shape, out.dtype) == (images.shape, dtype)
    assert bool(((params.visible > 0) & (params.visible <= 1)).all())
    assert bool(((label.retained >= 0) & (label.retained <= 1)).all())
    for image, crop_, dx, dy in zip(
        images, out, params.dx.tolist(), params.dy.tolist(), strict=True
    ):
        rows, columns = (
            slice(max(dy, 0), shape[2] + min(dy, 0)),
            slice(max(dx, 0), shape[3] + min(dx, 0)),
        )
        kept = crop_.roll((dy, dx), (-2, -1))[:, rows, columns]
        assert torch.equal(kept, image[:, rows, columns])


def test_images_that_need_a_gradient_get_the_same_pixels_without_overlapping_windows():
    images = torch.rand(6, 3, 7, 9)
    params = SoftCrop(sigma=0.5, fill=0.5).draw(images)
    expected = SoftCrop(fill=0.5).apply(images, params)
    out = SoftCrop(fill=0.5).apply(images.requires_grad_(), params)
    assert torch.equal(out, expected)
    out.sum().backward()
    assert torch.equal(images.grad.sum((1, 2, 3)) / (3 * 63), params.visible.float())
