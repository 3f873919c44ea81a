"""What a window shows: pixels, fill, visible share; images of torch, torchvision and PIL."""

from itertools import pairwise

import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2.functional import pil_to_tensor, resized_crop, to_pil_image

from softaug import DrawKey, SoftLabel, SoftResizedCrop, UniformResizedCrop
from softaug.transforms import WindowParams
from softaug.transforms.windows import find_resize_slices
from tests.transforms.pictures import DTYPES

KEY = DrawKey(seed=0, epoch=0, index=5)
INSIDE = [(0, 0, 40, 30), (3, 5, 24, 16), (39, 29, 1, 1), (7, 0, 9, 30), (1, 2, 3, 20)]
LEAVING = [(-9, 4, 30, 20), (25, 20, 30, 30), (-5, -6, 60, 50), (-19, -29, 20, 30)]
both_crops = pytest.mark.parametrize(
    "crop", [SoftResizedCrop(8), UniformResizedCrop(8)], ids=lambda crop: crop.name
)


def photo(dtype=torch.uint8, height=30, width=40, channels=3):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (channels, height, width), generator=generator)
    return pixels.to(dtype) if dtype == torch.uint8 else (pixels / 255).to(dtype)


def coded(height, width):
    """An image whose two channels are each pixel's x and y."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([x, y]).float()


def window(left, top, width, height):
    numbers = (torch.tensor([number]) for number in (left, top, width, height))
    return WindowParams(*numbers, torch.ones(1))


def seen(image, left, top, size, fill):
    """A window of the output's size pixel by pixel; `fill` has one number a channel."""
    out = torch.empty(len(image), size, size, dtype=image.dtype)
    for c in range(len(image)):
        for y in range(size):
            for x in range(size):
                inside = 0 <= top + y < image.shape[1] and 0 <= left + x < image.shape[2]
                out[c, y, x] = image[c, top + y, left + x] if inside else fill[c]
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", [(0,), (7, 99)], ids=str)
def test_every_pixel_of_a_window_of_the_outputs_size_is_the_right_one(fill, dtype):
    image, crop = coded(5, 6).to(dtype), SoftResizedCrop(4, fill=fill)
    numbers = fill * (2 // len(fill))
    for left in range(-3, 6):
        for top in range(-3, 5):
            out = crop.apply(image, window(left, top, 4, 4))
            assert torch.equal(out, seen(image, left, top, 4, numbers)), (left, top)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("place", INSIDE, ids=str)
def test_windows_in_the_image_are_torchvisions_resized_crop(place, dtype, antialias):
    left, top, width, height = place
    image = photo(dtype)
    expected = resized_crop(image, top, left, height, width, [12, 12], antialias=antialias)
    out = SoftResizedCrop(12, antialias=antialias).apply(image, window(*place))
    assert torch.equal(out, expected)


def filled_by(edge, start, length, size):
    """Which pixels of a resized edge lie in 0..edge of the image."""
    ends = [start + pixel * length / size for pixel in range(size + 1)]
    return torch.tensor([low >= 0 and high <= edge for low, high in pairwise(ends)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", LEAVING[:3], ids=str)
def test_pixels_show_the_image_or_the_fill_never_both(place, dtype):
    left, top, width, height = place
    image = torch.full((3, 30, 40), 50, dtype=dtype)
    out = SoftResizedCrop(12, fill=9).apply(image, window(*place))
    image_there = filled_by(30, top, height, 12)[:, None] & filled_by(40, left, width, 12)
    assert torch.equal(
        out.double().round(), torch.where(image_there, 50.0, 9.0).expand(3, -1, -1).double()
    )


def test_a_part_smaller_than_a_pixel_is_one_pixel():
    image = torch.full((3, 30, 40), 50, dtype=torch.uint8)
    out = SoftResizedCrop(12, fill=9).apply(image, window(-19, -29, 20, 30))
    assert (out[0] == 50).nonzero().tolist() == [[11, 11]]


@pytest.mark.parametrize("place", LEAVING[:3], ids=str)
def test_coordinates_of_a_window_that_leaves_are_off_by_less_than_a_pixel(place):
    left, top, width, height = place
    out = SoftResizedCrop(12, fill=-99).apply(coded(30, 40), window(*place))
    centre = (torch.arange(12) + 0.5) / 12
    x, y = left + width * centre - 0.5, top + height * centre - 0.5
    expected = torch.stack(torch.meshgrid(x, y, indexing="xy"))
    pixel = torch.tensor([width / 12, height / 12])[:, None, None]
    assert (((out - expected) / pixel).abs()[out != -99]).max() < 0.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_mean_is_that_of_the_visible_part(dtype):
    rows = torch.tensor([[[10, 21, 0, 0]], [[3, 5, 255, 255]]])  # the right half is not seen
    image = rows.expand(2, 4, 4).to(dtype)
    out = SoftResizedCrop(4, fill="mean").apply(image, window(-2, 0, 4, 4))
    means = [16.0, 4.0] if dtype == torch.uint8 else [15.5, 4.0]
    assert out.dtype == dtype
    assert out[:, 0].tolist() == [[means[0], means[0], 10, 21], [means[1], means[1], 3, 5]]


def test_replaying_a_window_beyond_the_image_leaves_only_fill():
    far = [(-60, 0, 10, 10), (50, 0, 10, 10), (0, -60, 10, 10), (0, 50, 10, 10)]
    near = [(-21, 0, 20, 20), (45, 0, 20, 20), (0, -21, 20, 20), (0, 45, 20, 20), (45, 45, 20, 20)]
    for place in far + near:
        out = SoftResizedCrop(4, fill=9).apply(photo(), window(*place))
        assert out.unique().tolist() == [9], place


@pytest.mark.parametrize("share_of", ["image", "window"])
@pytest.mark.parametrize(("height", "width"), [(5, 7), (7, 3), (1, 1), (4, 4)])
def test_visible_counts_pixels(height, width, share_of):
    crop = SoftResizedCrop(8, sigma=0.5, share_of=share_of)
    key = DrawKey(0, 0, torch.arange(300))
    params = crop.draw(torch.ones(300, 1, height, width), key=key)
    for (left, top, right, bottom), visible in zip(
        params.boxes.tolist(), params.visible.tolist(), strict=True
    ):
        inside = sum(
            0 <= x < width and 0 <= y < height
            for x in range(left, right)
            for y in range(top, bottom)
        )
        area = height * width if share_of == "image" else (right - left) * (bottom - top)
        assert visible == pytest.approx(inside / area)


@both_crops
def test_windows_from_sizes_alone_are_those_of_each_image(crop):
    sizes = [(30, 40), (1, 1), (500, 3), (64, 64), (30, 40), (7, 900)]
    index = torch.tensor([4, 8, 0, 99, 5, 2**40])
    drawn = crop.draw_for(*torch.tensor(sizes).T, DrawKey(3, 1, index))
    for row, (height, width) in enumerate(sizes):
        alone = crop.draw(torch.ones(1, height, width), key=DrawKey(3, 1, int(index[row])))
        assert [float(part[row]) for part in drawn] == [float(part) for part in alone]


@pytest.mark.parametrize("crop", [SoftResizedCrop(10, min_size=3), UniformResizedCrop(10)])
def test_windows_do_not_depend_on_torchs_default_type(crop):
    sizes = torch.randint(1, 3000, (2, 500), generator=torch.Generator().manual_seed(0))
    key, before = DrawKey(0, 0, torch.arange(500)), torch.get_default_dtype()
    expected = crop.draw_for(*sizes, key)
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = crop.draw_for(*sizes, key)
    finally:
        torch.set_default_dtype(before)
    assert all(map(torch.equal, found, expected))


def test_gradient_reaches_the_pixels_that_are_seen():
    image = torch.ones(1, 4, 4, requires_grad=True)
    SoftResizedCrop(2).apply(image, window(2, 3, 2, 2)).sum().backward()
    assert image.grad.nonzero().tolist() == [[0, 3, 2], [0, 3, 3]]


@both_crops
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_pil_image_becomes_one_with_the_tensors_pixels(crop, mode):
    picture = to_pil_image(photo(channels=len(mode)))
    image, label = crop(picture, 7, key=KEY)
    pixels, expected = crop(photo(channels=len(mode)), 7, key=KEY)
    assert (image.mode, image.size) == (mode, (8, 8))
    assert torch.equal(pil_to_tensor(image), pixels)
    assert label == expected


@pytest.mark.parametrize("mode", ["P", "RGBA", "I;16"])
def test_other_modes_of_pil_are_refused(mode):
    rule = rf'^SoftResizedCrop: a PIL image must be RGB or L, got {mode}; use image.convert\("RGB'
    with pytest.raises(ValueError, match=rule):
        SoftResizedCrop(8)(Image.new(mode, (9, 9)), 7)


@pytest.mark.parametrize("kind", [to_pil_image, tv_tensors.Image, torch.Tensor])
def test_compose_runs_windows_among_torchvisions(kind):
    crop = SoftResizedCrop(8, sigma=0.5)
    steps = [v2.RandomHorizontalFlip(p=1), crop, v2.ToImage(), v2.ToDtype(torch.float32, True)]
    torch.manual_seed(1)
    out, label = v2.Compose(steps)(kind(photo()), 7)
    torch.manual_seed(1)
    torch.rand(1)  # the flip's
    cropped, expected = crop(photo().flip(-1), 7)
    torch.testing.assert_close(out.as_subclass(torch.Tensor), cropped / 255)
    assert (label, type(label)) == (expected, SoftLabel)


CASES = [
    (start, length, edge, size)
    for edge in (1, 3, 10, 300, 301)
    for size in (1, 7, 100, 224)
    for start in {0, 1, edge // 3, edge - 1}
    for length in {1, (edge - start) // 2, edge - start}
    if 0 <= start < edge and length > 0
]


def test_pixels_that_are_wholly_filled_show_the_part_to_half_a_pixel():
    for start, length, edge, size in CASES:
        end, (src, dst) = start + length, find_resize_slices(start, length, edge, size)
        filled = [
            x for x in range(size) if start * size <= x * edge and (x + 1) * edge <= end * size
        ]
        if filled:
            assert (dst.start, dst.stop) == (filled[0], filled[-1] + 1)
        else:
            assert 0 <= dst.start == dst.stop - 1 < size
            assert abs((dst.start + 0.5) * edge / size - start - length / 2) <= edge / size
        assert 0 <= src.start < src.stop <= length
        if (src.start, src.stop) != (0, length):
            assert abs(start + src.start - dst.start * edge / size) <= 0.5
            assert abs(start + src.stop - dst.stop * edge / size) <= 0.5
    assert find_resize_slices(start=3, length=0, edge=10, size=5).src == slice(0, 0)
