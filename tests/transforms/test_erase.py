import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softaug import DrawKey, SoftCutout, SoftErase
from softaug.transforms import EraseParams

DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def coded(channels, height, width, dtype=torch.float32):
    """An image whose every pixel names its place: 1, 2, 3, ..."""
    count = channels * height * width
    return (torch.arange(count) + 1).view(channels, height, width).to(dtype)


def erased(image, top, left, height, width, fill):
    """The erasure pixel by pixel, as its definition says; `fill` has one number a channel."""
    out = image.clone()
    for c in range(image.shape[0]):
        for y in range(top, top + height):
            for x in range(left, left + width):
                out[c, y, x] = fill[c]
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


def drawn(transform, num, height, width, channels=1):
    images = torch.ones(()).expand(num, channels, height, width)
    return transform.draw(images, key=DrawKey(0, 0, torch.arange(num)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("fill", [0, 200])
@pytest.mark.parametrize("kind", [SoftErase, SoftCutout])
def test_every_pixel_of_every_rectangle_is_the_right_one(kind, fill, channels, dtype):
    image, params = coded(channels, 3, 4, dtype), every_rectangle(3, 4)
    out = kind(fill=fill).apply(image.expand(len(params.top), *image.shape), params)
    boxes = torch.stack(params[:4], dim=1).tolist()
    assert torch.equal(out, torch.stack([erased(image, *box, [fill] * 3) for box in boxes]))
    assert out.dtype == dtype


@pytest.mark.parametrize(
    "transform",
    [SoftErase(area=(0.01, 1.0)), SoftErase(p=0.5), SoftCutout(3), SoftCutout(4), SoftCutout(99)],
    ids=repr,
)
@pytest.mark.parametrize(("height", "width"), [(7, 9), (9, 7), (1, 5)])
def test_retained_counts_the_pixels_left(transform, height, width):
    images = coded(2, height, width).expand(500, 2, height, width)
    key = DrawKey(0, 0, torch.arange(500))
    out, label = transform(images, torch.zeros(500).long(), key=key)
    share = (out[:, 0] != 0).flatten(1).sum(1) / (height * width)
    torch.testing.assert_close(transform.draw(images, key=key).visible.float(), share)
    torch.testing.assert_close(label.retained, 1 - (1 - share) ** 2)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 8, 50])
def test_cutout_is_a_square_around_any_pixel_clipped_at_the_border(length):
    params = drawn(SoftCutout(length), 3000, 5, 6)
    for edge, start, size in ((5, params.top, params.height), (6, params.left, params.width)):
        first = [centre - length // 2 for centre in range(edge)]
        expected = {(max(f, 0), min(f + length, edge)) for f in first}
        assert set(zip(start.tolist(), (start + size).tolist(), strict=True)) == expected


def test_cutout_centres_are_even():
    params = drawn(SoftCutout(1), 20_000, 5, 6)
    cells = torch.bincount(params.top * 6 + params.left, minlength=30)
    assert stats.chisquare(cells.numpy()).pvalue > 1e-3


def test_erased_share_is_even_in_area():
    params = drawn(SoftErase(area=(0.1, 0.3), ratio=(0.5, 2.0)), 3000, 500, 500)
    law = stats.uniform(0.1, 0.2)
    assert stats.kstest(1 - params.visible.numpy(), law.cdf).pvalue > 1e-3


def test_erased_shape_is_even_in_log_ratio():
    params = drawn(SoftErase(area=(0.1, 0.3), ratio=(0.5, 2.0)), 3000, 500, 400)
    ratio = (params.height / params.width).double().log()
    law = stats.uniform(math.log(0.5), math.log(4))
    assert stats.kstest(ratio.numpy(), law.cdf).pvalue > 1e-3


def test_erased_place_is_even_over_where_it_fits():
    params = drawn(SoftErase(area=(0.25, 0.25), ratio=(1, 1)), 20_000, 8, 8)
    assert params.height.unique().tolist() == params.width.unique().tolist() == [4]
    cells = torch.bincount(params.top * 5 + params.left, minlength=25)
    assert stats.chisquare(cells.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_share_p_of_the_images_is_erased(p):
    params = drawn(SoftErase(p=p), 10_000, 32, 32)
    assert (params.height > 0).double().mean().item() == pytest.approx(p, abs=0.02)
    assert bool((params.visible[params.height == 0] == 1).all())


def test_a_rectangle_that_does_not_fit_is_cut_to_the_image():
    params = drawn(SoftErase(area=(1, 1), ratio=(100, 100)), 4, 10, 10)
    assert params.height.tolist() == [10] * 4
    assert params.width.tolist() == [1] * 4
    assert params.visible.tolist() == pytest.approx([0.9] * 4)


def test_erasing_everything_leaves_nothing():
    out, label = SoftErase(area=(1, 1), ratio=(1, 1), fill=3)(torch.ones(1, 4, 4), 5)
    assert bool((out == 3).all())
    assert label == (5, 0.0)


@pytest.mark.parametrize(("share", "edge"), [(1.0, 8), (0.25, 4), (0.1, 3), (0.001, 1)])
def test_a_share_of_cutout_is_a_smaller_square(share, edge):
    params = SoftCutout(8, strength=share).draw(torch.ones(500, 3, 32, 32))
    assert int(params.height.max()) == int(params.width.max()) == edge


def test_a_share_of_erasing_is_a_smaller_area():
    params = SoftErase((0.4, 0.4), (1, 1), strength=0.25).draw(torch.ones(9, 3, 100, 100))
    assert (1 - params.visible).tolist() == pytest.approx([0.1] * 9, abs=0.005)


@pytest.mark.parametrize("strength", [0, -0.5, 1.5, "full", True])
def test_a_strength_that_is_no_share_is_refused(strength):
    with pytest.raises(ValueError, match=r"^SoftErase: strength must be \"auto\" or a number"):
        SoftErase(strength=strength)


@given(
    st.tuples(*[st.integers(1, n) for n in (4, 4, 9, 9)]),
    st.sampled_from(DTYPES),
    st.sampled_from([SoftErase(), SoftErase((0.5, 1), (0.01, 100), 0.5), SoftCutout(3, 5)]),
    st.integers(0, 2**63 - 1),
)
def test_erasures_of_any_size_stay_inside_the_image(shape, dtype, transform, seed):
    images, key = torch.ones(shape, dtype=dtype), DrawKey(seed, 0, torch.arange(shape[0]))
    params = transform.draw(images, key=key)
    out, label = transform(images, torch.zeros(shape[0]).long(), key=key)
    assert (out.shape, out.dtype) == (images.shape, dtype)
    assert bool(((params.top >= 0) & (params.top + params.height <= shape[2])).all())
    assert bool(((params.left >= 0) & (params.left + params.width <= shape[3])).all())
    assert bool(((label.retained >= 0) & (label.retained <= 1)).all())
