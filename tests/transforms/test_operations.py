"""Each operation: torchvision's pixels, no more left with more strength, the share in frame."""

import math

import pytest
import torch
from torchvision.transforms.v2 import functional as theirs

from softaug.transforms.operations import OPERATIONS, apply_operation, measure_in_frame

GRADED = [name for name, operation in OPERATIONS.items() if operation.graded]
GEOMETRIC = [name for name, operation in OPERATIONS.items() if operation.geometric]
each = pytest.mark.parametrize("name", OPERATIONS)
SHAPES = [(3, 32, 32), (1, 32, 32), (3, 17, 24), (1, 2, 5)]

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
    """Noise, with a dull and a blank image among it."""
    generator = torch.Generator().manual_seed(0)
    shape = (num, channels, height, width)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    images[1:2], images[2:3] = images[1:2] // 8 + 100, 9
    return images


def strengths(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def bins(signed):
    """All strengths that TrivialAugment draws, but 0 and the quarter turn.

    A quarter turn of an oblong image has every source between two pixels.
    """
    found = torch.arange(-30 if signed else 1, 31).double() / 30
    return found[(found != 0) & (found.abs() != 20 / 30)]


@each
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pixels_are_torchvisions(name, shape):
    strength = bins(OPERATIONS[name].signed)
    images = pictures(len(strength), *shape)
    ours = apply_operation(name, images, strength, fill=7)
    pairs = zip(images, strength.tolist(), strict=True)
    assert torch.equal(ours, torch.stack([THEIRS[name](image, s) for image, s in pairs]))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_quarter_turn_of_a_square_is_torchvisions(sign):
    images, strength = pictures(3), strengths(2 / 3, 2 / 3, 2 / 3) * sign
    assert torch.equal(apply_operation("rotate", images, strength), images.rot90(sign, (2, 3)))


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in GEOMETRIC])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_of_float_images_are_torchvisions(name, dtype):
    strength = bins(OPERATIONS[name].signed)
    strength = strength[strength.abs() > 0.1]  # posterize leaves 8 bits alone
    images = pictures(len(strength)).to(dtype) / 255
    ours = apply_operation(name, images, strength)
    assert ours.dtype == dtype
    pairs = zip(images, strength.tolist(), strict=True)
    expected = torch.stack([THEIRS[name](image, s) for image, s in pairs])
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@each
def test_half_precision_is_the_float_result_rounded(name, dtype):
    images, strength = (pictures(6) / 255).to(dtype), torch.full((6,), 0.5).double()
    ours, wide = (apply_operation(name, x, strength) for x in (images, images.float()))
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, wide.to(dtype))


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_strength_0_changes_nothing(name, dtype):
    images = pictures(4)
    images[0, 0, 0, 0] = 255
    images = images if dtype == torch.uint8 else images / 255
    assert torch.equal(apply_operation(name, images, torch.zeros(4).double()), images)
    assert measure_in_frame(name, torch.zeros(4), 32, 32).tolist() == [1.0] * 4


def levels(name, strength):
    """How many of 256 grey levels are no longer told apart."""
    images = torch.arange(256).byte().view(1, 1, 16, 16).expand(len(strength), 1, 16, 16)
    out = apply_operation(name, images, strength)
    return torch.tensor([256 - image.unique().numel() for image in out])


def change(name, strength):
    """Mean change of a value."""
    images = pictures(1).expand(len(strength), 3, 32, 32)
    out = apply_operation(name, images, strength).double()
    return (out - images).abs().mean((1, 2, 3))


def touched(name, strength):
    """Share of the values that are changed."""
    images = pictures(1).expand(len(strength), 3, 32, 32)
    return (apply_operation(name, images, strength) != images).double().mean((1, 2, 3))


def turned(name, strength):
    """Mean way of the pixels of a rotated image that are in frame at every angle."""
    y, x = torch.meshgrid(*[torch.arange(40.0) / 40] * 2, indexing="ij")
    images = torch.stack([x, y, x])[None].double().expand(len(strength), 3, 40, 40)
    disc = (40 * x - 19.5).hypot(40 * y - 19.5) < 18
    way = (apply_operation(name, images, strength) - images)[:, :2].norm(dim=1)
    return way[:, disc].mean(1)


LOST = {
    "shear-x": lambda name, s: 1 - measure_in_frame(name, s, 40, 40),
    "shear-y": lambda name, s: 1 - measure_in_frame(name, s, 40, 40),
    "translate-x": lambda name, s: 1 - measure_in_frame(name, s, 40, 40),
    "translate-y": lambda name, s: 1 - measure_in_frame(name, s, 40, 40),
    "rotate": turned,
    "brightness": levels,
    "color": change,
    "contrast": change,
    "sharpness": change,
    "posterize": levels,
    "solarize": touched,
}


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("sign", [1, -1])
def test_more_strength_never_leaves_more(name, sign):
    lost = LOST[name](name, sign * torch.linspace(0, 1, 31, dtype=torch.float64))
    assert bool((lost.diff() >= 0).all())
    assert lost[0] == 0
    assert lost[-1] > lost[10] > 0


def test_full_strength_is_the_whole_range():
    one, ramp = strengths(1), torch.arange(256).byte().view(1, 1, 16, 16)
    assert apply_operation("posterize", ramp, one).unique().tolist() == [0, 64, 128, 192]
    assert torch.equal(apply_operation("solarize", ramp, one), 255 - ramp)
    assert apply_operation("translate-x", ramp, one, fill=3).unique().tolist() == [3]
    assert apply_operation("brightness", ramp, -one).max() == 2  # 255 * 0.01, cut off
    assert measure_in_frame("rotate", one / 3, 32, 32).item() == pytest.approx(2 * (2**0.5 - 1))


@pytest.mark.parametrize("name", ["translate-x", "translate-y"])
def test_a_shift_is_in_whole_pixels_toward_zero(name):
    strength = strengths(0.5, 0.55, 0.59, -0.59, 0.6, 16 / 30)
    left = measure_in_frame(name, strength, 10, 10)
    assert left.tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.4, 0.5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_share_of_whole_pixels_shifts_by_these(dtype):
    for edge in (29, 49, 93, 331):
        share = (torch.arange(edge + 1, dtype=torch.float64) / edge).to(dtype)
        left = measure_in_frame("translate-x", share, 8, edge).double()
        torch.testing.assert_close(left, 1 - share.double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", GEOMETRIC)
def test_the_share_in_frame_is_that_of_the_pixels_shown(name):
    strength = torch.linspace(-1, 1, 41, dtype=torch.float64)
    images = torch.ones(41, 1, 200, 160)
    shown = apply_operation(name, images, strength).mean((1, 2, 3)).double()
    torch.testing.assert_close(shown, measure_in_frame(name, strength, 200, 160), atol=4e-3, rtol=0)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in GEOMETRIC])
def test_the_whole_image_stays_in_frame_where_nothing_moves(name):
    assert measure_in_frame(name, torch.linspace(-1, 1, 5), 8, 8).tolist() == [1.0] * 5


@each
def test_an_image_gets_in_a_batch_what_it_gets_alone(name):
    images, strength = pictures(7), torch.linspace(-1, 1, 7, dtype=torch.float64)
    batch = apply_operation(name, images, strength)
    alone = [apply_operation(name, images[i : i + 1], strength[i : i + 1]) for i in range(7)]
    assert torch.equal(batch, torch.cat(alone))


BAD = [
    (lambda: apply_operation("rotat", pictures(3), strengths(0, 0, 0)), "did you mean 'rotate'?"),
    (
        lambda: measure_in_frame("blur", strengths(0), 8, 8),
        "in_frame: name must be one of",
    ),
    (lambda: apply_operation("color", pictures(3), strengths(0)), "for each of the 3 images"),
    (lambda: apply_operation("color", pictures(3)[0], strengths(0)), "images must be [B, C, H, W]"),
    (
        lambda: apply_operation("color", torch.zeros(1, 4, 8, 8), strengths(0)),
        "with 1 or 3 channels, got float32 tensor of shape [1, 4, 8, 8]; grey values need",
    ),
    (lambda: apply_operation("color", pictures(3), torch.zeros(3).long()), "got int64 tensor"),
    (lambda: apply_operation("rotate", pictures(3), strengths(0, 0, 0), fill="x"), "fill must be"),
    (
        lambda: apply_operation("color", torch.full((1, 3, 8, 8), 1.01), strengths(0)),
        "apply_operation: float images must be in 0..1, got 1.01 to 1.01; put it before",
    ),
    (
        lambda: apply_operation("color", torch.full((1, 3, 8, 8), torch.nan), strengths(0)),
        "must be in 0..1, got nan to nan",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        call()
    assert message in str(caught.value)
