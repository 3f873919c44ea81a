"""The laws of the windows: against the paper's text, and against torchvision."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torchvision.transforms import v2

from softaug import DrawKey, SoftCrop, SoftResizedCrop, UniformResizedCrop

SIZES = [(1, 1), (1, 500), (500, 1), (7, 3), (375, 500), (2, 2)]
OFFSETS = {"half": 0.5, "literal": 1.0}


def drawn(crop, num, height, width):
    edges = (torch.full((num,), edge) for edge in (height, width))
    return crop.draw_for(*edges, DrawKey(0, 0, torch.arange(num)))


def by_the_text(rng, num, longest, least, edge, sigma, factor):
    """Starts and lengths along an axis, one after the other, as the paper describes them."""
    found = []
    for _ in range(num):
        lost = min(max(0, rng.normal(0, sigma * (longest - least))), longest - least)
        length = longest - math.floor(lost)
        shift = math.inf
        while abs(shift) >= (edge + length) / 2:  # nothing visible: once more
            shift = rng.normal(0, factor * sigma * (edge + length))
        found.append(((edge - length) // 2 + math.trunc(shift), length))
    return np.array(found).T


def same_law(first, second):
    """The p-value of two samples [2, n] having one law, by counts in cells of a grid."""
    joined = np.concatenate([first, second], axis=1)
    borders = [np.unique(np.quantile(part, np.linspace(0, 1, 8))) for part in joined]
    counts = np.array([np.histogram2d(*one, bins=borders)[0].ravel() for one in (first, second)])
    return stats.chi2_contingency(counts[:, counts.sum(0) > 20]).pvalue


LAWS = {  # settings: longest window and least window across, then down, of a photo of 90 x 120
    "edges": ({}, (120, 60), (90, 45)),
    "edges, min_size": ({"min_size": 8}, (120, 30), (90, 22.5)),
    "short-edge": ({"relative_to": "short-edge"}, (90, 45), (90, 45)),
    "pixels": ({"relative_to": "pixels", "min_size": 20}, (120, 20), (90, 20)),
}


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize(("settings", "across", "down"), LAWS.values(), ids=LAWS)
def test_windows_have_the_law_of_the_papers_text(settings, across, down, offsets):
    crop, rng = SoftResizedCrop(32, offsets=offsets, **settings), np.random.default_rng(0)
    params = drawn(crop, 20_000, 90, 120)
    for start, length, limits, edge in (
        (params.left, params.width, across, 120),
        (params.top, params.height, down, 90),
    ):
        expected = by_the_text(rng, 20_000, *limits, edge, 0.3, OFFSETS[offsets])
        found = np.stack([start.numpy(), length.numpy()])
        assert same_law(found, expected) > 0.001
        assert length.max() == limits[0]
        assert length.min() == limits[0] - math.floor(limits[0] - limits[1])


def test_what_an_edge_loses_is_a_normal_number_rectified_and_clipped():
    params = drawn(SoftResizedCrop(32, sigma=0.5), 200_000, 40, 40)  # at most 20 pixels, sd 10
    counts = torch.bincount(40 - params.width, minlength=21)
    below = stats.norm.cdf(np.arange(1, 21), scale=10)  # P(loses less than 1, 2, ... 20)
    expected = np.diff([0, *below, 1]) * 200_000
    assert stats.chisquare(counts.numpy(), expected).pvalue > 0.001


def test_the_four_numbers_of_a_window_are_independent_where_they_should_be():
    params = drawn(SoftResizedCrop(32), 50_000, 120, 120)
    numbers = torch.stack([part.double() for part in params[:4]])
    shift = numbers[:2] + numbers[2:] / 2  # centres
    bound = 4 / math.sqrt(50_000)
    together = torch.corrcoef(torch.cat([shift, numbers[2:]]))
    assert together.fill_diagonal_(0).abs().max() < bound


def test_on_a_square_with_no_resizing_offsets_are_those_of_soft_crop():
    uniform = torch.rand(5000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    square = SoftResizedCrop(32, sigma=0.3, min_size=32)._draw(uniform, 32, 32, 0.3)
    shifted = SoftCrop(sigma=0.3)._draw(uniform[:, 2:], 32, 32, 0.3)
    assert torch.equal(square.left, shifted.dx)
    assert torch.equal(square.top, shifted.dy)
    torch.testing.assert_close(square.visible, shifted.visible)


CROPS = [
    *(SoftResizedCrop(16, relative_to=to) for to in ("edges", "short-edge", "pixels")),
    SoftResizedCrop(16, sigma=1e-9),
    SoftResizedCrop(16, sigma=1e9, min_size=1),
    SoftResizedCrop(16, sigma=1e9, offsets="literal", share_of="window"),
    UniformResizedCrop(16),
    UniformResizedCrop(16, scale=(1e-9, 1e-9), ratio=(4, 4)),
]


@pytest.mark.parametrize("crop", CROPS, ids=repr)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_some_of_the_image_is_in_every_window(crop, height, width):
    params = drawn(crop, 2000, height, width)
    left, top, right, bottom = params.boxes.T
    assert bool(((right > left) & (bottom > top)).all())
    assert bool(((right > 0) & (left < width) & (bottom > 0) & (top < height)).all())
    assert bool(((params.visible > 0) & (params.visible <= 1)).all())
    image, label = crop(torch.ones(1, height, width), 7)
    assert image.shape == (1, 16, 16)
    assert 0 < label.retained <= 1


@pytest.mark.parametrize("sigma", [1e-9, 0.3, 2.17, 1e9])  # 2.17 rounds to the very border
@pytest.mark.parametrize("edge", [1, 2, 7, 500])
@pytest.mark.parametrize("extreme", [2**-33, 1 - 2**-53])
def test_the_most_extreme_numbers_leave_a_pixel(edge, sigma, extreme):
    uniform = torch.full((1, 4), extreme, dtype=torch.float64)
    params = SoftResizedCrop(16, sigma=sigma, offsets="literal")._draw(uniform, edge, edge, sigma)
    assert 0 < params.visible.item() <= 1


def test_sigma_goes_from_the_whole_image_to_windows_all_over_and_beyond():
    params = drawn(SoftResizedCrop(16, sigma=1e-9), 500, 7, 3)
    assert params.boxes.unique(dim=0).tolist() == [[0, 0, 3, 7]]
    assert bool((params.visible == 1).all())
    params = drawn(SoftResizedCrop(16, sigma=1e9), 20_000, 8, 8)
    assert params.width.unique().tolist() == [4, 8]  # all that may be lost, or nothing
    assert params.left[params.width == 8].unique().tolist() == list(range(-7, 8))
    assert params.left[params.width == 4].unique().tolist() == list(range(-3, 8))


def test_shares_of_image_and_of_window_are_of_one_window():
    of_image, of_window = (
        drawn(SoftResizedCrop(32, share_of=share), 1000, 90, 120) for share in ("image", "window")
    )
    area = of_window.width * of_window.height
    assert torch.equal(of_image.boxes, of_window.boxes)
    torch.testing.assert_close(of_image.visible * 90 * 120, of_window.visible * area)


def torchvisions(crop, num, height, width):
    """Left, top, width and height of windows that torchvision draws, [4, num]."""
    theirs = v2.RandomResizedCrop(crop.size, scale=crop.scale, ratio=crop.ratio)
    image = torch.empty(1, height, width)
    torch.manual_seed(0)
    found = [theirs.make_params([image]) for _ in range(num)]
    return np.array([[p[name] for p in found] for name in ("left", "top", "width", "height")])


UNIFORM = {
    "the usual": (UniformResizedCrop(), 375, 500),
    "upright": (UniformResizedCrop(), 500, 375),
    "large and flat": (UniformResizedCrop(scale=(0.5, 1.0), ratio=(1.0, 3.0)), 200, 300),
    "at times central": (UniformResizedCrop(scale=(0.3, 1.0)), 100, 400),
}


@pytest.mark.parametrize(("crop", "height", "width"), UNIFORM.values(), ids=UNIFORM)
def test_uniform_windows_have_torchvisions_law(crop, height, width):
    ours, theirs = drawn(crop, 5000, height, width), torchvisions(crop, 5000, height, width)
    left, top, across, down = (part.numpy() for part in ours[:4])
    measures = [lambda x, y, w, h: w * h, lambda x, y, w, h: w / h, lambda *part: part[0]]
    for measure in [*measures, lambda *part: part[1]]:
        found, expected = measure(left, top, across, down), measure(*theirs)
        assert stats.ks_2samp(found, expected, method="asymp").pvalue > 0.001
    share = across * down / (height * width)
    assert torch.equal(ours.visible, torch.from_numpy(share))


RATIOS = [(3 / 4, 4 / 3), (1.1, 1.1), (0.5, 0.7)]


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize(("height", "width"), [(10, 1000), (1000, 10), (5, 999), (333, 2)])
def test_shapes_without_a_window_get_torchvisions_central_one(height, width, ratio):
    crop = UniformResizedCrop(scale=(1.0, 1.0), ratio=ratio)
    expected = torchvisions(crop, 1, height, width)[:, 0].tolist()
    params = drawn(crop, 10, height, width)
    assert torch.stack(params[:4], dim=1).unique(dim=0).tolist() == [expected]
