import math

import pytest
import torch
from scipy import stats

from softaug import DrawKey, SoftCrop, UniformCrop
from softaug.draws import draw_normal_field, draw_uniforms, philox, send, to_truncated_normal
from softaug.transforms import SoftTransform

NUM = 50_000


def images(num, height=1, width=1):
    """A batch that has a shape but no memory: draws read only the shape."""
    return torch.zeros(()).expand(num, 1, height, width)


def keyed(num=NUM, columns=2, *, purpose=1, seed=0, epoch=0, first=0, stream=0):
    key = DrawKey(seed, epoch, torch.arange(first, first + num), stream)
    return draw_uniforms("test", images(num), columns, purpose, None, key)


def correlation(first, second):
    return torch.corrcoef(torch.stack([first, second]))[0, 1].abs().item()


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter, key, expected):
    words = philox(
        tuple(torch.tensor([int(word, 16)]) for word in counter.split()),
        tuple(int(word, 16) for word in key.split()),
    )
    assert " ".join(f"{word.item():08x}" for word in words) == expected


def test_keyed_numbers_are_even_and_inside_0_to_1():
    drawn = keyed(columns=5)
    assert drawn.dtype == torch.float64
    assert drawn.min() > 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert stats.kstest(column.numpy(), "uniform").pvalue > 1e-3


def test_keyed_numbers_of_columns_and_neighbours_are_unrelated():
    drawn = keyed(columns=5)
    between_columns = [correlation(drawn[:, 0], drawn[:, other]) for other in range(1, 5)]
    between_samples = [correlation(column[1:], column[:-1]) for column in drawn.T]
    assert max(between_columns + between_samples) < 4 / math.sqrt(NUM)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"seed": 1 << 32}, {"epoch": 1}, {"stream": 1}, {"purpose": 2}, {"first": 1}],
    ids=str,
)
def test_every_part_of_the_key_gives_unrelated_draws(change):
    first, second = keyed(), keyed(**change)
    assert not (first == second).any(dim=1).any()
    assert correlation(first[:, 0], second[:, 0]) < 4 / math.sqrt(NUM)


def test_keyed_draws_stay_as_they_are_between_releases():
    drawn = keyed(2, seed=7, epoch=3, first=41)
    assert drawn.tolist() == [
        [0.8316285839537159, 0.8564112222520635],
        [0.9748642080230638, 0.009390593622811139],
    ]


def test_negative_and_large_seeds_and_indices_are_usable():
    index = torch.tensor([0, 2**32 - 1])
    drawn = draw_uniforms("test", images(2), 4, 1, None, DrawKey(-1, 2**31, index, 65535))
    assert bool(((drawn > 0) & (drawn < 1)).all())
    assert drawn.unique().numel() == 8


def test_parameters_are_drawn_on_the_cpu_where_the_device_has_no_float64(monkeypatch):
    expected = SoftCrop().draw(images(4, 8, 8), key=DrawKey(0, 0, torch.arange(4)))
    monkeypatch.setattr("softaug.draws.has_float64", lambda device: device.type == "cpu")
    there = torch.empty(4, 3, 8, 8, device="meta")
    drawn = draw_uniforms("test", there, 2, 1, None, DrawKey(0, 0, torch.arange(4)))
    assert drawn.device.type == "cpu"
    again = SoftCrop()._draw(drawn, 8, 8, 0.3)
    assert torch.equal(again.dx, expected.dx)


def test_what_is_sent_to_a_device_without_float64_is_float32(monkeypatch):
    monkeypatch.setattr("softaug.draws.has_float64", lambda device: False)
    assert send(torch.ones(2, dtype=torch.float64), torch.device("cpu")).dtype == torch.float32
    assert send(torch.ones(2, dtype=torch.int64), torch.device("cpu")).dtype == torch.int64


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.375, 1.0])
def test_truncated_normal_is_the_law_of_redrawing_until_it_fits(sigma):
    drawn = to_truncated_normal(keyed()[:, 0], sigma, limit=1)
    generator = torch.Generator().manual_seed(1)
    redrawn = sigma * torch.randn(6 * NUM, generator=generator, dtype=torch.float64)
    redrawn = redrawn[redrawn.abs() < 1]
    assert drawn.abs().max() < 1
    assert stats.ks_2samp(drawn.numpy(), redrawn.numpy()).pvalue > 1e-3


def offsets(transform, height, width, num=NUM):
    return transform.draw(images(num, height, width), key=DrawKey(0, 0, torch.arange(num)))


def whole_pixel_law(sd, edge):
    """P(offset) for -edge < offset < edge: a truncated normal cut to whole pixels toward 0."""
    law = stats.truncnorm(-edge / sd, edge / sd, scale=sd)
    steps = range(1 - edge, edge)
    return [law.cdf(s + (s >= 0)) - law.cdf(s - (s <= 0)) for s in steps]


def counts(values, edge):
    return torch.bincount(values + edge - 1, minlength=2 * edge - 1).numpy()


@pytest.mark.parametrize(("height", "width"), [(32, 32), (24, 32)])
def test_crop_offsets_follow_the_truncated_law_cut_toward_zero(height, width):
    params = offsets(SoftCrop(sigma=0.3), height, width)
    sd = 0.3 * max(height, width)
    for drawn, edge in ((params.dx, width), (params.dy, height)):
        expected = NUM * torch.tensor(whole_pixel_law(sd, edge), dtype=torch.float64)
        assert stats.chisquare(counts(drawn, edge), expected.numpy()).pvalue > 1e-3


@pytest.mark.parametrize(("sigma", "expected"), [(0.3, 0.603), (0.375, 0.522)])
def test_mean_visible_share_is_the_papers(sigma, expected):
    visible = offsets(SoftCrop(sigma=sigma), 32, 32).visible
    assert visible.mean().item() == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("most", [4, 16])
def test_uniform_crop_draws_every_whole_offset_equally_often(most):
    params = offsets(UniformCrop(most), 32, 24)
    for drawn in (params.dx, params.dy):
        found = torch.bincount(drawn + most, minlength=2 * most + 1)
        assert found.numel() == 2 * most + 1
        assert stats.chisquare(found.numpy()).pvalue > 1e-3


def test_normal_field_is_standard_normal_without_pattern():
    field = draw_normal_field(torch.arange(50), 1000).double()
    assert stats.kstest(field.flatten().numpy(), "norm").pvalue > 1e-3
    quarters = field.split(250, dim=1)
    related = [correlation(quarters[0].flatten(), q.flatten()) for q in quarters[1:]]
    related += [correlation(field[1:].flatten(), field[:-1].flatten())]
    assert max(related) < 4 / math.sqrt(12_500)


def test_normal_field_is_finite_and_depends_on_its_seed_alone():
    edges = torch.tensor([0, 7, 2**32 - 1])
    for num in (1, 3, 4, 5, 4093):
        field = draw_normal_field(edges, num)
        assert field.shape == (3, num)
        assert bool(field.isfinite().all())
        assert torch.equal(draw_normal_field(edges[1:2], num)[0], field[1])


def subclasses(kind):
    return [sub for child in kind.__subclasses__() for sub in (child, *subclasses(child))]


def test_purposes_of_transforms_are_distinct():
    ours = [k for k in subclasses(SoftTransform) if k.__module__.startswith("softaug.")]
    ours = [kind for kind in ours if "purpose" in vars(kind)]
    purposes = {kind.__name__: kind.purpose for kind in ours}
    assert len(ours) >= 5
    assert len(set(purposes.values())) == len(purposes), purposes
    assert all(0 < purpose < 2**16 for purpose in purposes.values())  # counter word: 16 bits
