import math

import pytest
import torch
from scipy import stats
from torchvision.transforms.v2 import functional as theirs

from softaug import DrawKey, SoftAffine

WIDE = SoftAffine(degrees=(-10, 50), translate=(0.2, 0.4), scale=(0.5, 2), shear=(-5, 20, 0, 30))


def drawn(transform, num=5000, height=40, width=60):
    images = torch.ones(()).expand(num, 1, height, width)
    return transform.draw(images, key=DrawKey(0, 0, torch.arange(num)))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("angle", -10, 50), ("scale", 0.5, 2), ("shear_x", -5, 20), ("shear_y", 0, 30)],
)
def test_draws_are_even_in_their_range(name, low, high):
    values = getattr(drawn(WIDE), name)
    assert stats.kstest(values.numpy(), stats.uniform(low, high - low).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("name", "reach"), [("dx", 12), ("dy", 16)])
def test_shifts_are_whole_pixels_up_to_their_share_of_the_edge(name, reach):
    values = getattr(drawn(WIDE, 20_000), name)
    counts = torch.bincount(values + reach, minlength=2 * reach + 1).double()
    even = torch.full((2 * reach + 1,), 20_000 / (2 * reach), dtype=torch.float64)
    even[[0, -1]] /= 2  # rounding gives each end half a pixel's width
    assert stats.chisquare(counts.numpy(), even.numpy()).pvalue > 1e-3


def test_one_number_is_a_range_around_0():
    assert SoftAffine(degrees=30).degrees == (-30.0, 30.0)
    params = drawn(SoftAffine(degrees=0, shear=10))
    assert params.angle.abs().max() == params.shear_y.abs().max() == 0
    assert 9.9 < params.shear_x.max() < 10


def test_pixels_are_torchvisions():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (50, 3, 20, 26), dtype=torch.uint8, generator=generator)
    affine = SoftAffine(40, (0.2, 0.3), (0.6, 1.5), (-20, 20, -20, 20), fill=(7, 8, 9))
    params = affine.draw(images, key=DrawKey(0, 0, torch.arange(50)))
    out = affine.apply(images, params)
    for image, ours, row in zip(images, out, zip(*params, strict=True), strict=True):
        angle, dx, dy, scale, shear_x, shear_y = (float(value) for value in row[:-1])
        shear = [shear_x, shear_y]
        their = theirs.affine(image, angle, [dx, dy], scale, shear, fill=[7, 8, 9])
        assert torch.equal(ours, their)


def test_retained_counts_what_is_in_frame():
    images, labels = torch.ones(200, 1, 120, 120), torch.zeros(200).long()
    affine = SoftAffine(90, (0.5, 0.5), k=3)  # of the image's own size: pixels can be counted
    out, label = affine(images, labels, key=DrawKey(0, 0, torch.arange(200)))
    shown = out.mean((1, 2, 3))
    torch.testing.assert_close(label.retained, 1 - (1 - shown) ** 3, atol=0.01, rtol=0)
    assert label.retained.min() < 0.7


def test_a_zoomed_out_image_is_wholly_visible_and_one_zoomed_in_is_not():
    images = torch.ones(3, 1, 32, 32)
    small, large = (SoftAffine(0, scale=(s, s)).draw(images).visible for s in (0.5, 2))
    assert small.tolist() == [1.0] * 3
    assert large.tolist() == pytest.approx([0.25] * 3)


def test_a_turn_is_clockwise_and_shifts_go_right_and_down():
    image = torch.zeros(1, 3, 3)
    image[0, 0, 1] = 1  # top
    assert SoftAffine((90, 90))(image, 0)[0].nonzero().tolist() == [[0, 1, 2]]  # right
    params = SoftAffine(0).draw(image)
    params = params._replace(dx=params.dx + 1, dy=params.dy + 2)
    assert SoftAffine(0).apply(image, params).nonzero().tolist() == [[0, 2, 2]]


def test_what_is_drawn_is_multiplied_by_the_strength():
    settings, images = (
        ((-20, 60), (0.4, 0.3), (0.2, 1.6), (5, 10, -3, 8)),
        torch.ones(99, 3, 40, 50),
    )
    key = DrawKey(0, 0, torch.arange(99))
    weak, full = (SoftAffine(*settings, strength=s).draw(images, key=key) for s in (0.3, 1.0))
    for name in ("angle", "shear_x", "shear_y"):
        torch.testing.assert_close(getattr(weak, name), 0.3 * getattr(full, name))
    torch.testing.assert_close(weak.scale - 1, 0.3 * (full.scale - 1))
    for name in ("dx", "dy"):  # each is rounded to whole pixels
        assert (getattr(weak, name) - 0.3 * getattr(full, name)).abs().max() <= 0.65


BAD = [
    ({"degrees": -1}, "SoftAffine: degrees must be a number >= 0 or low <= high, got int -1"),
    ({"degrees": (3, 1)}, "degrees must be a number >= 0 or low <= high, got (3, 1)"),
    ({"degrees": (1, 2, 3, 4)}, "degrees must be a number >= 0 or low <= high, got tuple"),
    ({"degrees": math.inf}, "degrees must be a number >= 0 or low <= high, got float inf"),
    ({"degrees": (0, math.nan)}, "degrees must be a number >= 0 or low <= high, got tuple"),
    ({"degrees": "30"}, "degrees must be a number >= 0 or low <= high, got str 30"),
    ({"shear": 90}, "SoftAffine: shear must be below 90 degrees, got 90"),
    ({"shear": (1, 2, 3)}, "shear must be a number >= 0 or low <= high, got tuple (1, 2, 3)"),
    ({"scale": (0, 1)}, "SoftAffine: scale must be 0 < low <= high, got (0, 1)"),
    ({"scale": (2, 1)}, "scale must be 0 < low <= high, got (2, 1)"),
    ({"scale": 1.5}, "scale must be a pair (low, high), got float 1.5"),
    ({"translate": 0.1}, "translate must be a pair of shares of width and height, got float 0.1"),
    ({"translate": (0.1, 1.5)}, "each number of translate must be a number in 0..1, got float 1.5"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        SoftAffine(**settings)
    assert message in str(caught.value)
