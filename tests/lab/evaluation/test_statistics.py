import math
import statistics

import pytest
from scipy import stats

from softaug.lab.evaluation.stats import (
    Estimate,
    Interval,
    Verdict,
    estimate,
    paired_difference,
    seed_interval,
    verdict,
)

VALUES = [0.21, 0.19, 0.2, 0.24]


def test_estimate_equals_the_textbook() -> None:
    found = estimate(VALUES)
    assert found.mean == pytest.approx(statistics.fmean(VALUES))
    assert found.se == pytest.approx(statistics.stdev(VALUES) / 2)
    assert found.n == 4


def test_one_seed_has_no_standard_error() -> None:
    assert estimate([0.5]) == Estimate(0.5, None, 1)


def test_a_diverged_run_is_not_left_out() -> None:
    found = estimate([0.1, math.nan])
    assert math.isnan(found.mean)
    assert verdict(found).word == "no difference shown"


def test_differences_are_paired_by_seed_not_by_place() -> None:
    first, second = {1: 0.5, 2: 0.7, 3: 0.9}, {3: 0.8, 2: 0.6, 1: 0.4}
    found = paired_difference(first, second)
    assert found.mean == pytest.approx(0.1)
    assert found.se == pytest.approx(0, abs=1e-12)


def test_only_common_seeds_count() -> None:
    assert paired_difference({0: 1.0, 7: 9.0}, {0: 0.5, 8: 3.0}) == Estimate(0.5, None, 1)


def test_interval_equals_scipy() -> None:
    found = seed_interval(estimate(VALUES), level=0.9)
    low, high = stats.t.interval(
        0.9, 3, loc=statistics.fmean(VALUES), scale=statistics.stdev(VALUES) / 2
    )
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.n, found.level) == (4, 0.9)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = stats.norm(loc=1).rvs((4000, 3), random_state=0)
    found = [seed_interval(estimate(row.tolist())) for row in rng[:1500]]
    covered = statistics.fmean(part.low <= 1 <= part.high for part in found)
    assert covered == pytest.approx(0.95, abs=0.023)  # 4 s.e.


@pytest.mark.parametrize(
    ("mean", "se", "n", "higher_is_better", "word"),
    [
        (-0.02, 0.002, 3, False, "better"),
        (-0.02, 0.002, 3, True, "worse"),
        (0.02, 0.002, 3, False, "worse"),
        (0.02, 0.002, 3, True, "better"),
        (-0.02, 0.005, 3, False, "no difference shown"),  # 4.0 s.e. of the 4.3 needed
        (-0.02, 0.002, 2, False, "no difference shown"),  # 10 of 12.7
        (0.0, 0.0, 5, False, "no difference shown"),
        (-0.01, 0.0, 5, False, "not tested"),
        (0.5, None, 1, False, "not tested"),
    ],
)
def test_verdict_over_seeds(mean, se, n, higher_is_better, word) -> None:
    found = verdict(Estimate(mean, se, n), higher_is_better=higher_is_better)
    assert found == Verdict(word, n, "seeds")


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.1, 0.3, "worse"),
        (-0.3, -0.1, "better"),
        (-0.1, 0.3, "no difference shown"),
        (0.0, 0.3, "no difference shown"),
        (math.nan, math.nan, "no difference shown"),
    ],
)
@pytest.mark.parametrize("by_seed", [None, Estimate(0.2, None, 1)])
def test_one_seed_is_judged_over_images_only(by_seed, low, high, word) -> None:
    found = verdict(by_seed, Interval(0.2, low, high, 500, 0.95))
    assert found == Verdict(word, 500, "images")
    assert str(found) == f"{word} (n = 500 images, one pair of runs)"


@pytest.mark.parametrize(
    "first",
    [
        {0: 0.24, 1: 0.05},  # both differ by -0.01, but for rounding
        {0: -0.01, 1: -0.01},
    ],
)
def test_equal_differences_are_no_certainty(first) -> None:
    second = {seed: round(value + 0.01, 2) for seed, value in first.items()}
    by_seed = paired_difference(first, second)
    assert str(verdict(by_seed)) == "not tested (n = 2 seeds)"
    images = Interval(-0.01, -0.02, 0.01, 500, 0.95)
    assert verdict(by_seed, images) == Verdict("no difference shown", 500, "images")


def test_seeds_come_before_images() -> None:
    found = verdict(Estimate(-0.02, 0.02, 4), Interval(-0.02, -0.03, -0.01, 9000, 0.95))
    assert str(found) == "no difference shown (n = 4 seeds)"


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="estimate: values must not be empty"):
        estimate([])
    with pytest.raises(ValueError, match=r"paired_difference: .* got \[0\] and \[1\]"):
        paired_difference({0: 1.0}, {1: 1.0})
    with pytest.raises(ValueError, match=r"seed_interval: .* at least 2, got 1; one seed"):
        seed_interval(Estimate(1.0, None, 1))
    with pytest.raises(ValueError, match=r"verdict: .* got neither"):
        verdict()


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, math.nan, "high", True])
def test_bad_level_is_refused(level) -> None:
    with pytest.raises(ValueError, match="seed_interval: level must be between 0 and 1"):
        seed_interval(Estimate(1.0, 0.1, 3), level)
