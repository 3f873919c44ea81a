"""Means over seeds, intervals over seeds and images, verdicts."""

import math
import statistics
import time

import pytest
import torch
from scipy import stats

from softaug.lab.evaluation.stats import (
    bootstrap_difference,
    bootstrap_interval,
    bootstrap_intervals,
    estimate,
    paired_difference,
    seed_interval,
    verdict,
)
from softaug.lab.schema import Estimate, Interval, Verdict
from softaug.metrics import calibration_error, image_gap, sum_gaps

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


# Over images


def random_values(num=400, seed=0):
    return torch.rand(num, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_model(seed, num=300):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(num, 4, generator=generator, dtype=torch.float64)
    return logits.softmax(1), torch.arange(num) % 4


def slow_resamples(num, num_resamples, seed):
    """The images of each resample, drawn as the library draws them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(num, (num_resamples, num), generator=generator)


def slow_ends(resampled, value):
    """The 2.5 and 97.5 % points of resampled numbers moved so that their median is `value`."""
    numbers = torch.tensor(resampled, dtype=torch.float64)
    ends = numbers.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    return (ends - statistics.median(resampled) + value).tolist()


def test_equals_a_loop_over_resamples() -> None:
    values = random_values()
    means = torch.stack([values[picks].mean() for picks in slow_resamples(400, 200, seed=3)])
    found = bootstrap_interval(values, level=0.9, num_resamples=200, seed=3)
    assert found.value == pytest.approx(float(values.mean()))
    assert found.low == pytest.approx(float(means.quantile(0.05)))
    assert found.high == pytest.approx(float(means.quantile(0.95)))
    assert (found.n, found.level) == (400, 0.9)


def test_calibration_error_equals_a_loop_over_resamples() -> None:
    probs, labels = random_model(0)
    slow = [
        float(calibration_error(probs[picks], labels[picks], bins=15))
        for picks in slow_resamples(300, 100, seed=0)
    ]
    found = bootstrap_interval(image_gap(probs, labels), sum_gaps, num_resamples=100)
    value = float(calibration_error(probs, labels, bins=15))
    assert found.value == pytest.approx(value)
    assert [found.low, found.high] == pytest.approx(slow_ends(slow, value), rel=1e-6)


def test_a_calibration_error_is_inside_its_interval_where_all_of_it_is_noise() -> None:
    outside = 0
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        probs = (2 * torch.randn(300, 10, generator=generator)).softmax(1)
        labels = torch.multinomial(probs, 1, generator=generator)[:, 0]  # calibrated
        rows = image_gap(probs, labels)
        found = bootstrap_interval(rows, sum_gaps, num_resamples=200)
        assert found.low < found.value < found.high
        means = [rows[picks].mean(0) for picks in slow_resamples(300, 200, seed=0)]
        outside += float(sum_gaps(torch.stack(means)).quantile(0.025)) > found.value
    assert outside > 0, "percentiles alone would leave some out"


def test_width_is_that_of_the_normal_law_for_many_images() -> None:
    values = random_values(5000)
    found = bootstrap_interval(values)
    reach = 1.96 * float(values.std()) / math.sqrt(5000)
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.1)


def test_covers_the_truth_about_as_often_as_it_says() -> None:
    found = [bootstrap_interval(random_values(100, s), num_resamples=200) for s in range(400)]
    covered = sum(part.low <= 0.5 <= part.high for part in found) / 400
    assert 0.9 <= covered <= 0.98


def test_difference_is_of_the_same_images() -> None:
    hard = random_values()
    found = bootstrap_difference(hard + 0.01, hard)  # far less than the spread of `hard`
    assert (found.low, found.high) == pytest.approx((0.01, 0.01))
    assert bootstrap_difference(hard, hard).high == 0


def test_difference_of_calibration_errors() -> None:
    (ours, labels), (theirs, _) = random_model(1), random_model(2)
    rows = [image_gap(probs, labels) for probs in (ours, theirs)]
    found = bootstrap_difference(*rows, sum_gaps, num_resamples=100)
    slow = [
        float(
            calibration_error(ours[p], labels[p], 15) - calibration_error(theirs[p], labels[p], 15)
        )
        for p in slow_resamples(300, 100, seed=0)
    ]
    assert found.low == pytest.approx(slow_ends(slow, found.value)[0], rel=1e-6)
    swapped = bootstrap_difference(*rows[::-1], sum_gaps, num_resamples=100)
    assert (swapped.value, swapped.low) == pytest.approx((-found.value, -found.high))


def test_same_seed_same_interval_over_images() -> None:
    values = random_values()
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_does_not_depend_on_the_chunks(monkeypatch) -> None:
    whole = bootstrap_interval(random_values(), num_resamples=50)
    monkeypatch.setattr("softaug.lab.evaluation.stats._DRAWS", 1000)
    parts = bootstrap_interval(random_values(), num_resamples=50)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_ten_thousand_images_a_thousand_times_take_less_than_two_seconds() -> None:
    start = time.process_time()
    bootstrap_interval(random_values(10_000))
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (torch.zeros(1), {}, "at least 2 images"),
        (torch.zeros(3, 2), {}, r"tensor \[N\]"),
        ([0.0, 1.0], {}, "tensor"),
        (torch.tensor([0.0, math.nan]), {}, r"finite, got nan \(image 1\)"),
        (torch.zeros(3), {"statistic": sum_gaps}, r"\[N, F\]"),
        (torch.zeros(3, 2), {"statistic": torch.sum}, r"statistic must turn means \[R, F\]"),
        (torch.zeros(3), {"level": 95}, "level must be between 0 and 1"),
        (torch.zeros(3), {"num_resamples": 0}, "num_resamples must be a whole number >= 1"),
        (torch.zeros(3), {"seed": -1}, "seed must be a whole number >= 0"),
    ],
)
def test_bad_values_are_refused(values, options, message) -> None:
    with pytest.raises(ValueError, match=f"bootstrap_interval: .*{message}"):
        bootstrap_interval(values, **options)


def test_models_of_other_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bootstrap_difference: second .*\[5\].*same images"):
        bootstrap_difference(torch.zeros(5), torch.zeros(4))


def test_several_at_once_are_each_as_alone() -> None:
    values = {"one": random_values(seed=1), "two": random_values(seed=2) - 0.5}
    found = bootstrap_intervals(values, level=0.9, num_resamples=300, seed=4)
    for name, column in values.items():
        alone = bootstrap_interval(column, level=0.9, num_resamples=300, seed=4)
        both = zip(vars(found[name]).values(), vars(alone).values(), strict=True)
        assert all(ours == pytest.approx(theirs) for ours, theirs in both)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "values must not be empty"),
        ({"a": torch.zeros(1)}, r"values of a must be a tensor \[N\] of at least 2 images"),
        ({"a": torch.tensor([0, torch.nan])}, "values of a must be finite"),
        ({"a": torch.zeros(3), "b": torch.zeros(2)}, "values of b must be of the same 3 images"),
    ],
)
def test_several_at_once_refuse_bad_input(values, message) -> None:
    with pytest.raises(ValueError, match=f"bootstrap_intervals: {message}"):
        bootstrap_intervals(values)
