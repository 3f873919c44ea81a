"""Maps of a batch: every pixel against torchvision, every share against slow, obvious code."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.v2 import functional as theirs

from softaug.transforms.affine import build_inverse_map, measure_visible, render_affine

IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def maps(*rows):
    return torch.tensor(rows, dtype=torch.float64).view(-1, 2, 3)


def coded(height, width):
    """An image whose every pixel names its place: 1, 2, 3, ..."""
    return (torch.arange(height * width) + 1.0).view(1, 1, height, width)


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


def test_the_share_is_that_of_fine_grid_points_which_land_in_the_frame():
    some, fine = random_maps(40, 6, 8, seed=1), 400
    x = ((torch.arange(fine) + 0.5) / fine - 0.5).double() * 8
    y = ((torch.arange(fine) + 0.5) / fine - 0.5).double() * 6
    points = torch.stack(torch.meshgrid(x, y, indexing="ij"), -1).view(-1, 2)
    for one, share in zip(some, measure_visible(some, 6, 8), strict=True):
        landed = (points - one[:, 2]) @ one[:, :2].inverse().T  # image to frame
        inside = (landed[:, 0].abs() < 4) & (landed[:, 1].abs() < 3)
        assert inside.double().mean().item() == pytest.approx(share.item(), abs=3e-3)


@pytest.mark.parametrize(
    ("row", "share"),
    [
        (IDENTITY, 1.0),
        ([[0, -1, 0], [1, 0, 0]], 1.0),  # a quarter turn of a square
        ([[-1, 0, 0], [0, -1, 0]], 1.0),
        ([[2, 0, 0], [0, 2, 0]], 1.0),  # zoomed out
        ([[0.5, 0, 0], [0, 0.5, 0]], 0.25),  # zoomed in: a quarter of it is shown
        ([[1, 0, 2], [0, 1, 0]], 0.75),
        ([[1, 0, 2], [0, 1, -4]], 0.375),
        ([[1, 0, 8], [0, 1, 0]], 0.0),
        ([[1, 0, 99], [0, 1, 99]], 0.0),
        ([[1, 1, 4], [0, 1, 0]], 0.5),  # sheared by the whole edge from the top
        ([[0.5**0.5, -(0.5**0.5), 0], [0.5**0.5, 0.5**0.5, 0]], 2 * (2**0.5 - 1)),  # octagon
    ],
)
def test_shares_worked_by_hand(row, share):
    assert measure_visible(maps(row), 8, 8).item() == pytest.approx(share, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 40))
def test_shares_are_shares(seed, height, width):
    share = measure_visible(random_maps(20, height, width, seed), height, width)
    assert bool(((share >= 0) & (share <= 1)).all())


def test_the_identity_renders_the_image():
    image = coded(5, 6)
    assert torch.equal(render_affine(image, maps(IDENTITY), torch.zeros(1, 1, 1, 1)), image)


def test_shift_scale_and_quarter_turn_render_the_pixels_they_should():
    image, fill = coded(2, 2), torch.full((1, 1, 1, 1), 9.0)
    rows = [[[1, 0, 1], [0, 1, 0]], [[0, -1, 0], [1, 0, 0]], [[1, 0, 0], [0, 1, -1]]]
    out = render_affine(image.expand(3, 1, 2, 2), maps(*rows), fill)
    assert out[:, 0].tolist() == [[[2, 9], [4, 9]], [[2, 4], [1, 3]], [[9, 9], [1, 2]]]


@pytest.mark.parametrize("seed", range(3))
def test_pixels_are_torchvisions(seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (30, 3, 15, 22), dtype=torch.uint8, generator=generator)
    uniform = 2 * torch.rand(30, 6, generator=generator, dtype=torch.float64) - 1
    angle, dx, dy, scale, shear_x, shear_y = (uniform * 30).T
    shift, scale = torch.stack([dx, dy], 1).round(), 1.2 + scale / 30
    shear = torch.stack([shear_x, shear_y], 1)
    fill = torch.tensor([7, 8, 9], dtype=torch.uint8).view(1, 3, 1, 1)
    ours = render_affine(
        images, build_inverse_map(angle.deg2rad(), shift, scale, shear.deg2rad()), fill
    )
    settings = zip(angle, shift, scale, shear, strict=True)
    for image, out, (a, t, s, sh) in zip(images, ours, settings, strict=True):
        their = theirs.affine(image, a.item(), t.tolist(), s.item(), sh.tolist(), fill=[7, 8, 9])
        assert torch.equal(out, their)


def test_sources_between_two_pixels_go_to_the_higher():
    half = maps([[1, 0, 0.5], [0, 1, 0]], [[1, 0, 0.5 - 1e-9], [0, 1, 0]])
    out = render_affine(coded(1, 3).expand(2, 1, 1, 3), half, torch.zeros(1, 1, 1, 1))
    assert out.flatten(1).tolist() == [[2, 3, 0], [2, 3, 0]]


def test_gradients_reach_the_images():
    images = torch.rand(2, 1, 4, 4, requires_grad=True)
    render_affine(images, random_maps(2, 4, 4), torch.zeros(1, 1, 1, 1)).sum().backward()
    assert images.grad.sum() > 0
