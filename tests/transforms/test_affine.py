"""Affine maps: every pixel against torchvision, every share against slow, obvious code, draws."""

import math

import pytest
import torch
from scipy import stats
from torchvision.transforms.v2 import functional as theirs

from softaug import SoftAffine
from softaug.transforms.affine import build_inverse_map, measure_visible, render_affine
from tests.transforms.pictures import coded, drawn, key_of, pictures

IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
WIDE = SoftAffine(degrees=(-10, 50), translate=(0.2, 0.4), scale=(0.5, 2), shear=(-5, 20, 0, 30))


def maps(*rows):
    return torch.tensor(rows, dtype=torch.float64).view(-1, 2, 3)


def random_maps(num, height, width, seed=0):
    """Maps that turn, shift, scale and shear by any amount."""
    uniform = torch.rand(num, 6, generator=torch.Generator().manual_seed(seed)).double()
    angle, scale = 2 * math.pi * uniform[:, 0], 0.3 + 2 * uniform[:, 1]
    shift = (2 * uniform[:, 2:4] - 1) * torch.tensor([width, height])
    return build_inverse_map(angle, shift, scale, 2 * uniform[:, 4:] - 1)


def clipped_area(polygon, height, width):
    """Area that a polygon [(x, y)] shares with the image: cut it at each border in turn."""
    for axis, sign, limit in ((0, 1, width), (0, -1, width), (1, 1, height), (1, -1, height)):
        kept = []
        for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            before, after = sign * p[axis] - limit / 2, sign * q[axis] - limit / 2
            if before <= 0:
                kept.append(p)
            if before * after < 0:
                t = before / (before - after)
                kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
        polygon = kept
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in pairs)) / 2


def source_of_frame(one, height, width):
    corners = [(-width / 2, -height / 2), (width / 2, -height / 2)]
    corners += [(width / 2, height / 2), (-width / 2, height / 2)]
    (a, b, c), (d, e, f) = one.tolist()
    return [(a * x + b * y + c, d * x + e * y + f) for x, y in corners]


@pytest.mark.parametrize(("height", "width"), [(9, 9), (7, 12)])
def test_the_share_is_the_area_of_the_polygon_cut_at_each_border(height, width):
    some = random_maps(400, height, width)
    polygons = [source_of_frame(one, height, width) for one in some]
    slow = [clipped_area(polygon, height, width) / (height * width) for polygon in polygons]
    assert min(slow) == 0
    assert max(slow) > 0.99
    assert measure_visible(some, height, width).tolist() == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "share"),
    [
        (IDENTITY, 1.0),
        ([[0, -1, 0], [1, 0, 0]], 1.0),  # a quarter turn of a square
        ([[2, 0, 0], [0, 2, 0]], 1.0),  # zoomed out
        ([[0.5, 0, 0], [0, 0.5, 0]], 0.25),  # zoomed in: a quarter of it is shown
        ([[1, 0, 2], [0, 1, -4]], 0.375),
        ([[1, 0, 8], [0, 1, 0]], 0.0),
        ([[1, 0, 99], [0, 1, 99]], 0.0),
        ([[1, 1, 4], [0, 1, 0]], 0.5),  # sheared by the whole edge from the top
        ([[0.5**0.5, -(0.5**0.5), 0], [0.5**0.5, 0.5**0.5, 0]], 2 * (2**0.5 - 1)),  # octagon
    ],
)
def test_shares_worked_by_hand(row, share):
    assert measure_visible(maps(row), 8, 8).item() == pytest.approx(share, abs=1e-12)


def test_shift_and_quarter_turn_render_the_pixels_they_should():
    image, fill = coded(1, 2, 2), torch.full((1, 1, 1, 1), 9.0)
    rows = [IDENTITY, [[1, 0, 1], [0, 1, 0]], [[0, -1, 0], [1, 0, 0]], [[1, 0, 0], [0, 1, -1]]]
    out = render_affine(image.expand(4, 1, 2, 2), maps(*rows), fill)
    expected = [[[1, 2], [3, 4]], [[2, 9], [4, 9]], [[2, 4], [1, 3]], [[9, 9], [1, 2]]]
    assert out[:, 0].tolist() == expected


def test_sources_between_two_pixels_go_to_the_higher():
    half = maps([[1, 0, 0.5], [0, 1, 0]], [[1, 0, 0.5 - 1e-9], [0, 1, 0]])
    out = render_affine(coded(1, 1, 3).expand(2, 1, 1, 3), half, torch.zeros(1, 1, 1, 1))
    assert out.flatten(1).tolist() == [[2, 3, 0], [2, 3, 0]]


def test_gradients_reach_the_images():
    images = torch.rand(2, 1, 4, 4, requires_grad=True)
    render_affine(images, random_maps(2, 4, 4), torch.zeros(1, 1, 1, 1)).sum().backward()
    assert images.grad.sum() > 0


def test_pixels_are_torchvisions():
    images = pictures(80, 3, 20, 26)
    affine = SoftAffine(40, (0.2, 0.3), (0.6, 1.5), (-20, 20, -20, 20), fill=(7, 8, 9))
    params = affine.draw(images, key=key_of(80))
    out = affine.apply(images, params)
    for image, ours, row in zip(images, out, zip(*params, strict=True), strict=True):
        angle, dx, dy, scale, shear_x, shear_y = (float(value) for value in row[:-1])
        shear = [shear_x, shear_y]
        their = theirs.affine(image, angle, [dx, dy], scale, shear, fill=[7, 8, 9])
        assert torch.equal(ours, their)


def test_retained_counts_what_is_in_frame():
    images, labels = torch.ones(100, 1, 120, 120), torch.zeros(100).long()
    affine = SoftAffine(90, (0.5, 0.5), k=3)  # of the image's own size: pixels can be counted
    out, label = affine(images, labels, key=key_of(100))
    shown = out.mean((1, 2, 3))
    torch.testing.assert_close(label.retained, 1 - (1 - shown) ** 3, atol=0.01, rtol=0)
    assert label.retained.min() < 0.7


def test_a_turn_is_clockwise_and_shifts_go_right_and_down():
    image = torch.zeros(1, 3, 3)
    image[0, 0, 1] = 1  # top
    assert SoftAffine((90, 90))(image, 0)[0].nonzero().tolist() == [[0, 1, 2]]  # right
    params = SoftAffine(0).draw(image)
    params = params._replace(dx=params.dx + 1, dy=params.dy + 2)
    assert SoftAffine(0).apply(image, params).nonzero().tolist() == [[0, 2, 2]]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("angle", -10, 50), ("scale", 0.5, 2), ("shear_x", -5, 20), ("shear_y", 0, 30)],
)
def test_draws_are_even_in_their_range(name, low, high):
    values = getattr(drawn(WIDE), name)
    assert stats.kstest(values.numpy(), stats.uniform(low, high - low).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("name", "most"), [("dx", 12), ("dy", 16)])
def test_shifts_are_whole_pixels_up_to_their_share_of_the_edge(name, most):
    values = getattr(drawn(WIDE, 20_000), name)
    counts = torch.bincount(values + most, minlength=2 * most + 1).double()
    even = torch.full((2 * most + 1,), 20_000 / (2 * most), dtype=torch.float64)
    even[[0, -1]] /= 2  # rounding gives each end half a pixel's width
    assert stats.chisquare(counts.numpy(), even.numpy()).pvalue > 1e-3


def test_one_number_is_a_range_around_0():
    assert SoftAffine(degrees=30).degrees == (-30.0, 30.0)
    params = drawn(SoftAffine(degrees=0, shear=10))
    assert params.angle.abs().max() == params.shear_y.abs().max() == 0
    assert 9.9 < params.shear_x.max() < 10


def test_what_is_drawn_is_multiplied_by_the_strength():
    settings = (-20, 60), (0.4, 0.3), (0.2, 1.6), (5, 10, -3, 8)
    weak, full = (drawn(SoftAffine(*settings, strength=s), 99) for s in (0.3, 1.0))
    for name in ("angle", "shear_x", "shear_y"):
        torch.testing.assert_close(getattr(weak, name), 0.3 * getattr(full, name))
    torch.testing.assert_close(weak.scale - 1, 0.3 * (full.scale - 1))
    for name in ("dx", "dy"):  # each is rounded to whole pixels
        assert (getattr(weak, name) - 0.3 * getattr(full, name)).abs().max() <= 0.65
