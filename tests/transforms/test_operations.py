"""Each operation: torchvision's pixels, the share in frame."""

import colorsys
import math

import pytest
import torch
from torchvision.transforms.v2 import functional as theirs

from softaug.transforms.operations import OPERATIONS, apply_operation, measure_in_frame
from softaug.transforms.photometric import adjust_hue
from tests.transforms.pictures import pictures as noise

GRADED = [name for name, operation in OPERATIONS.items() if operation.graded]
GEOMETRIC = [name for name, operation in OPERATIONS.items() if operation.geometric]
PHOTOMETRIC = [name for name in OPERATIONS if name not in GEOMETRIC]
TURNS = torch.linspace(-0.5, 0.5, 41, dtype=torch.float64)

THEIRS = {  # image, strength -> image
    "identity": lambda x, s: x,
    "shear-x": lambda x, s: sheared(x, [degrees(0.99 * s), 0.0]),
    "shear-y": lambda x, s: sheared(x, [0.0, degrees(0.99 * s)]),
    "translate-x": lambda x, s: shifted(x, [int(s * x.shape[2]), 0]),
    "translate-y": lambda x, s: shifted(x, [0, int(s * x.shape[1])]),
    "rotate": lambda x, s: theirs.rotate(x, 135 * s, fill=7),
    "brightness": lambda x, s: theirs.adjust_brightness(x, 1 + 0.99 * s),
    "color": lambda x, s: theirs.adjust_saturation(x, 1 + 0.99 * s),
    "contrast": lambda x, s: theirs.adjust_contrast(x, 1 + 0.99 * s),
    "sharpness": lambda x, s: theirs.adjust_sharpness(x, 1 + 0.99 * s),
    "posterize": lambda x, s: theirs.posterize(x, round(8 - 6 * abs(s))),
    "solarize": lambda x, s: theirs.solarize(x, top(x) * (1 - abs(s))),
    "autocontrast": lambda x, s: theirs.autocontrast(x),
    "equalize": lambda x, s: theirs.equalize(x),
}


def degrees(slope):
    return math.degrees(math.atan(slope))


def sheared(image, shear):
    return theirs.affine(image, 0.0, [0, 0], 1.0, shear, fill=7, center=[0, 0])


def shifted(image, pixels):
    return theirs.affine(image, 0.0, pixels, 1.0, [0.0, 0.0], fill=7)


def top(image):
    return 255 if image.dtype == torch.uint8 else 1


def pictures(num, channels=3, height=32, width=32):
    """Noise, with a dull and a blank image among it, and white in the first."""
    images = noise(num, channels, height, width)
    images[1:2], images[2:3], images[0, :, 0, 0] = images[1:2] // 8 + 100, 9, 255
    return images


def bins(signed):
    """All strengths that TrivialAugment draws, but 0 and the quarter turn.

    A quarter turn of an oblong image has every source between two pixels.
    """
    found = torch.arange(-30 if signed else 1, 31).double() / 30
    return found[(found != 0) & (found.abs() != 20 / 30)]


def one_by_one(name, images, strength):
    pairs = zip(images, strength.tolist(), strict=True)
    return torch.stack([THEIRS[name](image, s) for image, s in pairs])


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 17, 24), (1, 2, 5)], ids=str)
def test_pixels_are_torchvisions(name, shape):
    strength = bins(OPERATIONS[name].signed)
    images = pictures(len(strength), *shape)
    ours = apply_operation(name, images, strength, fill=7)
    assert torch.equal(ours, one_by_one(name, images, strength))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_quarter_turn_of_a_square_is_torchvisions(sign):
    images, strength = pictures(3), torch.full((3,), sign * 2 / 3).double()
    assert torch.equal(apply_operation("rotate", images, strength), images.rot90(sign, (2, 3)))


@pytest.mark.parametrize("name", PHOTOMETRIC)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_of_float_images_are_torchvisions(name, dtype):
    strength = bins(OPERATIONS[name].signed)
    strength = strength[strength.abs() > 0.1]  # posterize leaves 8 bits alone
    images = pictures(len(strength)).to(dtype) / 255
    ours = apply_operation(name, images, strength)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, one_by_one(name, images, strength), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", OPERATIONS)
def test_half_precision_is_the_float_result_rounded(name):
    for dtype in (torch.float16, torch.bfloat16):
        images, strength = (pictures(6) / 255).to(dtype), torch.full((6,), 0.5).double()
        ours, wide = (apply_operation(name, x, strength) for x in (images, images.float()))
        assert ours.dtype == dtype
        torch.testing.assert_close(ours, wide.to(dtype))


@pytest.mark.parametrize("name", GRADED)
def test_strength_0_changes_nothing(name):
    for images in (pictures(4), pictures(4) / 255):
        assert torch.equal(apply_operation(name, images, torch.zeros(4).double()), images)
    assert measure_in_frame(name, torch.zeros(4), 32, 32).tolist() == [1.0] * 4


def test_full_strength_is_the_whole_range():
    one, ramp = torch.ones(1).double(), torch.arange(256).byte().view(1, 1, 16, 16)
    assert apply_operation("posterize", ramp, one).unique().tolist() == [0, 64, 128, 192]
    assert torch.equal(apply_operation("solarize", ramp, one), 255 - ramp)
    assert apply_operation("translate-x", ramp, one, fill=3).unique().tolist() == [3]
    assert apply_operation("brightness", ramp, -one).max() == 2  # 255 * 0.01, cut off


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_shift_is_in_whole_pixels_toward_zero(dtype):
    strength = torch.tensor([0.5, 0.55, 0.59, -0.59, 0.6, 16 / 30]).double()
    left = measure_in_frame("translate-y", strength, 10, 10)
    assert left.tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.4, 0.5])
    for edge in (29, 49, 93, 331):  # shares of whole pixels are those pixels
        share = (torch.arange(edge + 1, dtype=torch.float64) / edge).to(dtype)
        left = measure_in_frame("translate-x", share, 8, edge).double()
        torch.testing.assert_close(left, 1 - share.double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_share_in_frame_is_that_of_the_pixels_shown(name):
    strength = torch.linspace(-1, 1, 21, dtype=torch.float64)
    images = torch.ones(21, 1, 200, 160)
    frame = measure_in_frame(name, strength, 200, 160)
    if name in GEOMETRIC:
        shown = apply_operation(name, images, strength).mean((1, 2, 3)).double()
        torch.testing.assert_close(shown, frame, atol=4e-3, rtol=0)
    else:
        assert frame.tolist() == [1.0] * 21


def colorful(num=41):
    """Noise, with grays, pure colors and black among it."""
    images = noise(num, 3, 8, 9)
    images[:, :, 0] = images[:, :1, 0]
    images[:, :, 1, :3] = 255 * torch.eye(3, dtype=torch.uint8)
    images[:, :, 2] = 0
    return images


def test_hues_are_torchvisions_to_a_gray_level():
    images = colorful()
    pairs = zip(images, TURNS.tolist(), strict=True)
    expected = torch.stack([theirs.adjust_hue(image, turn) for image, turn in pairs])
    away = (adjust_hue(images, TURNS).int() - expected.int()).abs()
    assert int(away.max()) <= 1
    assert float((away > 0).double().mean()) < 0.01  # where rounding decides


def test_hues_are_what_pythons_colorsys_says():
    images, turns = colorful(3).double() / 255, torch.tensor([0.1, -0.3, 0.5]).double()
    expected = torch.empty_like(images)
    for image, out, turn in zip(images, expected, turns.tolist(), strict=True):
        for y in range(8):
            for x in range(9):
                hue, saturation, value = colorsys.rgb_to_hsv(*image[:, y, x].tolist())
                new = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
                out[:, y, x] = torch.tensor(new)
    torch.testing.assert_close(adjust_hue(images, turns), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32])
def test_no_turn_and_grays_stay_as_they_are(dtype):
    images = colorful() if dtype == torch.uint8 else (colorful() / 255).to(dtype)
    found = adjust_hue(images, torch.zeros(41))
    assert found.dtype == dtype
    torch.testing.assert_close(found, images, atol=1 if dtype == torch.uint8 else 1e-3, rtol=0)
    grays = images[:, :, [0, 2]]
    assert torch.equal(adjust_hue(grays, TURNS), grays)
    assert torch.equal(adjust_hue(images[:, :1], TURNS), images[:, :1])  # one channel has none
