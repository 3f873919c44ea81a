"""Means over seeds, intervals over seeds and images, verdicts."""

import math
import statistics

import pytest
import torch
from scipy import stats

from softaug.lab.evaluation.stats import (
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


def test_estimate_and_interval_equal_the_textbook_and_scipy():
    found = estimate(VALUES)
    mean, se = statistics.fmean(VALUES), statistics.stdev(VALUES) / 2
    assert vars(found) == pytest.approx({"mean": mean, "se": se, "n": 4})
    ends = seed_interval(found, level=0.9)
    assert (ends.low, ends.high) == pytest.approx(stats.t.interval(0.9, 3, loc=mean, scale=se))
    assert (ends.n, ends.level) == (4, 0.9)
    assert estimate([0.5]) == Estimate(0.5, None, 1)
    assert verdict(estimate([0.1, math.nan])).word == "no difference shown", "not left out"


def test_differences_are_paired_by_seed_and_only_common_seeds_count():
    found = paired_difference({1: 0.5, 2: 0.7, 3: 0.9, 7: 9}, {3: 0.8, 2: 0.6, 1: 0.4, 8: 3})
    assert (found.mean, found.se) == pytest.approx((0.1, 0), abs=1e-12)
    assert found.n == 3
    but_for_rounding = paired_difference({0: 0.24, 1: 0.05}, {0: 0.25, 1: 0.06})
    assert str(verdict(but_for_rounding)) == "not tested (n = 2 seeds)", "no certainty"


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = stats.norm(loc=1).rvs((1500, 3), random_state=0)
    found = [seed_interval(estimate(row.tolist())) for row in rng]
    covered = statistics.fmean(part.low <= 1 <= part.high for part in found)
    assert covered == pytest.approx(0.95, abs=0.023)  # 4 s.e.


@pytest.mark.parametrize(
    ("mean", "se", "n", "word"),
    [
        (-0.02, 0.002, 3, "better"),
        (0.02, 0.002, 3, "worse"),
        (-0.02, 0.005, 3, "no difference shown"),  # 4.0 s.e. of the 4.3 needed
        (-0.02, 0.002, 2, "no difference shown"),  # 10 of 12.7
        (0.0, 0.0, 5, "no difference shown"),
        (-0.01, 0.0, 5, "not tested"),
        (0.5, None, 1, "not tested"),
    ],
)
def test_verdict_over_seeds(mean, se, n, word):
    found = Estimate(mean, se, n)
    assert verdict(found) == Verdict(word, n, "seeds")
    other = {"better": "worse", "worse": "better"}.get(word, word)
    assert verdict(found, higher_is_better=True).word == other
    images = Interval(-0.02, -0.03, -0.01, 9000, 0.95)
    judged = verdict(found, images)
    assert judged == (Verdict("better", 9000, "images") if word == "not tested" else verdict(found))


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.1, 0.3, "worse"),
        (-0.3, -0.1, "better"),
        (0.0, 0.3, "no difference shown"),
        (math.nan, math.nan, "no difference shown"),
    ],
)
def test_one_seed_is_judged_over_images_only(low, high, word):
    images = Interval(0.2, low, high, 500, 0.95)
    found = verdict(Estimate(0.2, None, 1), images)
    assert found == verdict(None, images) == Verdict(word, 500, "images")
    assert str(found) == f"{word} (n = 500 images, one pair of runs)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate([]), "estimate: values must not be empty"),
        (lambda: paired_difference({0: 1.0}, {1: 1.0}), r"paired_difference: .* \[0\] and \[1\]"),
        (lambda: seed_interval(Estimate(1.0, None, 1)), "at least 2, got 1; one seed"),
        (lambda: seed_interval(Estimate(1.0, 0.1, 3), 95), "level must be between 0 and 1"),
        (lambda: seed_interval(Estimate(1.0, 0.1, 3), math.nan), "level must be between"),
        (lambda: verdict(), r"verdict: .* got neither"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Over images


def random_values(num=400, seed=0):
    return torch.rand(num, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def bootstrap_mean(values, **options):
    return bootstrap_intervals({"it": values}, **options)["it"]


def slow_resamples(num, num_resamples, seed):
    """The images of each resample, drawn as the library draws them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(num, (num_resamples, num), generator=generator)


def test_means_equal_a_loop_over_resamples_alone_and_together():
    values = {"one": random_values(seed=1), "two": random_values(seed=2) - 0.5}
    found = bootstrap_intervals(values, level=0.9, num_resamples=200, seed=3)
    for name, column in values.items():
        means = torch.stack([column[picks].mean() for picks in slow_resamples(400, 200, seed=3)])
        ends = float(means.quantile(0.05)), float(means.quantile(0.95))
        wanted = Interval(float(column.mean()), *ends, 400, 0.9)
        assert vars(found[name]) == pytest.approx(vars(wanted))
    assert found != bootstrap_intervals(values, level=0.9, num_resamples=200, seed=4)


def test_calibration_error_equals_a_loop_over_resamples():
    logits = 2 * torch.randn(300, 4, generator=torch.Generator().manual_seed(0)).double()
    probs, labels = logits.softmax(1), torch.arange(300) % 4
    slow = torch.tensor(
        [
            float(calibration_error(probs[picks], labels[picks], bins=15))
            for picks in slow_resamples(300, 100, seed=0)
        ]
    ).double()
    found = bootstrap_interval(image_gap(probs, labels), sum_gaps, num_resamples=100)
    value = float(calibration_error(probs, labels, bins=15))
    assert found.value == pytest.approx(value)
    ends = slow.quantile(torch.tensor([0.025, 0.975]).double()) - slow.quantile(0.5) + value
    assert [found.low, found.high] == pytest.approx(ends.tolist(), rel=1e-6)


def test_a_calibration_error_is_inside_its_interval_where_all_of_it_is_noise():
    outside = 0
    for seed in range(10):
        generator = torch.Generator().manual_seed(seed)
        probs = (2 * torch.randn(300, 10, generator=generator)).softmax(1)
        labels = torch.multinomial(probs, 1, generator=generator)[:, 0]  # calibrated
        rows = image_gap(probs, labels)
        found = bootstrap_interval(rows, sum_gaps, num_resamples=200)
        assert found.low < found.value < found.high
        means = [rows[picks].mean(0) for picks in slow_resamples(300, 200, seed=0)]
        outside += float(sum_gaps(torch.stack(means)).quantile(0.025)) > found.value
    assert outside > 0, "percentiles alone would leave some out"


def test_covers_the_truth_about_as_often_as_it_says():
    found = [bootstrap_mean(random_values(100, s), num_resamples=200) for s in range(400)]
    assert 0.9 <= statistics.fmean(part.low <= 0.5 <= part.high for part in found) <= 0.98


def test_does_not_depend_on_the_chunks(monkeypatch):
    whole = bootstrap_mean(random_values(), num_resamples=50)
    monkeypatch.setattr("softaug.lab.evaluation.stats._DRAWS", 1000)
    parts = bootstrap_mean(random_values(), num_resamples=50)
    assert vars(parts) == pytest.approx(vars(whole), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (torch.zeros(1), {}, r"values of it must be a tensor \[N\] of at least 2 images"),
        (torch.zeros(3, 2), {}, r"tensor \[N\]"),
        ([0.0, 1.0], {}, "tensor"),
        (torch.tensor([0.0, math.nan]), {}, r"values of it must be finite, got \[?nan.*image 1"),
        (torch.zeros(3), {"level": 95}, "level must be between 0 and 1"),
        (torch.zeros(3), {"num_resamples": 0}, "num_resamples must be a whole number >= 1"),
        (torch.zeros(3), {"seed": -1}, "seed must be a whole number >= 0"),
    ],
)
def test_bad_values_are_refused(values, options, message):
    with pytest.raises(ValueError, match=f"bootstrap_intervals: .*{message}"):
        bootstrap_mean(values, **options)


def test_bad_sets_of_values_and_statistics_are_refused():
    with pytest.raises(ValueError, match="values must not be empty"):
        bootstrap_intervals({})
    with pytest.raises(ValueError, match="values of b must be of the same 3 images"):
        bootstrap_intervals({"a": torch.zeros(3), "b": torch.zeros(2)})
    with pytest.raises(ValueError, match=r"bootstrap_interval: values .*\[N, F\]"):
        bootstrap_interval(torch.zeros(3), sum_gaps)
    with pytest.raises(ValueError, match=r"statistic must turn means \[R, F\]"):
        bootstrap_interval(torch.zeros(3, 2), torch.sum)
