import pytest
import torch

from softaug.lab.curves.fit import falling, fit_table_curve


def slow_falling(values, weights):
    """By the formula: the least over starts of the largest mean over ends."""

    def mean(first, last):
        part = range(first, last + 1)
        return sum(values[i] * weights[i] for i in part) / sum(weights[i] for i in part)

    num = len(values)
    return [
        min(max(mean(first, last) for last in range(i, num)) for first in range(i + 1))
        for i in range(num)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_pooling_is_the_slow_formula(seed):
    generator = torch.Generator().manual_seed(seed)
    values, weights = torch.rand(2, 12, generator=generator, dtype=torch.float64).tolist()
    weights = [weight + 0.01 for weight in weights]
    assert falling(values, weights) == pytest.approx(slow_falling(values, weights))


def test_what_never_rises_stays_as_it_is():
    assert falling([0.9, 0.9, 0.2], [1.0, 2.0, 3.0]) == [0.9, 0.9, 0.2]


def test_what_only_rises_becomes_its_mean():
    assert falling([0.0, 1.0], [3.0, 1.0]) == [0.25, 0.25]


def test_a_table_starts_whole_and_stays_between_0_and_1():
    curve = fit_table_curve("visible", [1 / 3, 2 / 3, 1.0], [1.2, 0.4, -0.1], [0.1] * 3)
    assert curve.lost == pytest.approx((0, 1 / 3, 2 / 3, 1), abs=1e-6)
    assert curve.retained == (1.0, 1.0, 0.4, 0.0)


def test_surer_points_count_more():
    curve = fit_table_curve("strength", [0.5, 1.0], [0.2, 0.6], [0.1, 0.2])
    assert curve.retained[1:] == (0.28, 0.28)  # weights 4 to 1


def test_a_point_without_error_decides():
    assert fit_table_curve("strength", [0.5, 1.0], [0.9, 1.0], [0.1, 0.0]).retained[1] == 1.0
