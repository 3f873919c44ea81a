"""Windows resized by matrices: torchvision's pixels, one by one and in any batch."""

import pytest
import torch
from torchvision.transforms.v2.functional import resized_crop

from softaug import SoftResizedCrop, UniformResizedCrop
from softaug.transforms import WindowParams
from softaug.transforms.resized_crop import compute_window_weights, resize_windows
from tests.transforms.pictures import key_of, pictures

NUM = 64
SHAPES = {"enlarged": (20, 24, 32), "as CIFAR": (32, 32, 32), "shrunk": (90, 70, 16)}
each_shape = pytest.mark.parametrize(("height", "width", "size"), SHAPES.values(), ids=SHAPES)


def windows(*rows):
    """Windows of left, top, width, height."""
    return WindowParams(*torch.tensor(rows).T, visible=torch.ones(len(rows)))


def off(ours, theirs):
    """Largest and mean difference in gray levels."""
    away = (ours.double() - theirs.double()).abs()
    return float(away.max()), float(away.mean())


@each_shape
def test_windows_within_images_are_the_loops_to_a_gray_level(height, width, size):
    images, crop = pictures(NUM, 3, height, width), UniformResizedCrop(size)
    params = crop.draw(images, key=key_of(NUM))
    whole = resize_windows(images, params, size)
    most, mean = off(whole, crop.apply(images, params))
    assert most <= 1
    assert mean < 0.25  # noise; the loop rounds twice
    one = WindowParams(*(part[3:4] for part in params))
    assert torch.equal(resize_windows(images[3:4], one, size)[0], whole[3])


@each_shape
@pytest.mark.parametrize("fill", [(0,), (7, 130, 255)], ids=str)
def test_windows_that_leave_images_see_the_fill(height, width, size, fill):
    images = pictures(NUM, 3, height, width)
    params = SoftResizedCrop(size, sigma=0.6).draw(images, key=key_of(NUM))
    assert int((params.left < 0).sum()) > 5
    values = torch.tensor(fill, dtype=torch.uint8).view(1, -1, 1, 1)
    expected = [
        filled_crop(image, values[0], box, size)
        for image, box in zip(images, params.boxes.tolist(), strict=True)
    ]
    found = resize_windows(images, params, size, values)
    assert off(found, torch.stack(expected))[0] <= 1
    if fill == (0,):
        assert torch.equal(resize_windows(images, params, size), found)


def filled_crop(image, fill, box, size):
    """The window on a canvas of fill with the image in its middle, by torchvision."""
    left, top, right, bottom = box
    (height, width), edge = image.shape[1:], 200
    canvas = fill.expand(3, height + 2 * edge, width + 2 * edge).clone()
    canvas[:, edge : edge + height, edge : edge + width] = image
    place = edge + top, edge + left, bottom - top, right - left
    return resized_crop(canvas, *place, [size, size], antialias=True)


def test_float_images_are_torchvisions_to_rounding():
    images = pictures(NUM, 3, 40, 30).float() / 255
    params = UniformResizedCrop(24).draw(images, key=key_of(NUM))
    boxes = zip(images, *(part.tolist() for part in params[:4]), strict=True)
    expected = [resized_crop(i, y, x, h, w, [24, 24], antialias=True) for i, x, y, w, h in boxes]
    found = resize_windows(images, params, 24)
    torch.testing.assert_close(found, torch.stack(expected), atol=1e-5, rtol=0)


def test_no_resizing_is_exact():
    images, fill = pictures(3, 3, 4, 4), torch.full((1, 1, 1, 1), 9)
    out = resize_windows(images, windows((1, 0, 4, 4), (0, -2, 4, 4), (0, 0, 4, 4)), 4, fill)
    assert torch.equal(out[0, :, :, :3], images[0, :, :, 1:])
    assert torch.equal(out[1, :, 2:], images[1, :, :2])
    assert out[0, :, :, 3].unique().tolist() == out[1, :, :2].unique().tolist() == [9]
    assert torch.equal(out[2], images[2])


def test_half_the_size_weighs_four_pixels_by_a_triangle():
    found = compute_window_weights(torch.tensor([0]), torch.tensor([6]), 3, 6, torch.float64)[0]
    triangle = torch.tensor([[3, 3, 1, 0, 0, 0], [0, 1, 3, 3, 1, 0], [0, 0, 0, 1, 3, 3]]).double()
    torch.testing.assert_close(found, triangle / triangle.sum(1, keepdim=True))


def slow_weights(start, length, size, edge):
    """Each weight by itself."""
    scale = length / size
    wide, out = max(scale, 1), torch.zeros(size, edge, dtype=torch.float64)
    for i in range(size):
        place = (i + 0.5) * scale
        worth = [max(0, 1 - abs(j + 0.5 - place) / wide) for j in range(length)]
        for j in range(length):
            if 0 <= start + j < edge:
                out[i, start + j] = worth[j] / sum(worth)
    return out


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_weights_are_those_of_a_slow_loop(size):
    start, length = torch.tensor([0, 2, -3, 5, -9, 9]), torch.tensor([10, 1, 7, 30, 40, 4])
    found = compute_window_weights(start, length, size, 10, torch.float64)
    rows = zip(start.tolist(), length.tolist(), strict=True)
    torch.testing.assert_close(found, torch.stack([slow_weights(*r, size, 10) for r in rows]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64])
def test_type_stays_and_colors_stay_apart(dtype):
    images = torch.tensor([10, 20, 30]).view(1, 3, 1, 1).expand(2, 3, 9, 7).to(dtype)
    out = resize_windows(images, windows((1, 1, 5, 4), (0, 2, 7, 7)), 6)
    assert (out.shape, out.dtype, out.is_contiguous()) == ((2, 3, 6, 6), dtype, True)
    assert torch.equal(out[0].float(), images[0, :, :1, :1].float().expand(3, 6, 6))


def test_gradients_are_right():
    images = torch.rand(2, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    params, fill = windows((-1, 1, 4, 3), (0, 0, 3, 5)), torch.rand(1, 1, 1, 1).double()
    assert torch.autograd.gradcheck(lambda x: resize_windows(x, params, 3, fill), images)
