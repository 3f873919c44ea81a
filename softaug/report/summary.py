"""Means, standard errors and paired differences over seeds: the numbers behind every table."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, Literal

from softaug.report.results import Arm, check_results

Verdict = Literal["better", "worse", "no difference shown"]

# Two-sided 95 % quantiles of Student's t for 1, 2, ... 30 degrees of freedom.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Metric:
    """What is measured and how it is shown.

    `key` is its place in a run, parts joined by "/"; `name` stands in a sentence, `label` in a
    table.
    """

    key: str
    name: str
    label: str
    percent: bool
    digits: int
    higher_is_better: bool = False

    def show(self, value: float) -> str:
        """The value as the tables print it.

        >>> Metric("error", "error", "Error", percent=True, digits=2).show(0.01234)
        '1.23'
        """
        return f"{value * (100 if self.percent else 1):.{self.digits}f}"


@dataclass(frozen=True)
class Estimate:
    """Mean over `n` seeds and its standard error; a single seed has none."""

    mean: float
    se: float | None
    n: int


@dataclass(frozen=True)
class ArmSummary:
    """An arm's estimates by metric key, and its differences to the first arm, paired by seed."""

    name: str
    estimates: dict[str, Estimate]
    differences: dict[str, Estimate]


@dataclass(frozen=True)
class Comparison:
    """One arm minus another in each metric, paired by seed, and what that shows."""

    arm: str
    against: str
    differences: dict[str, Estimate]
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Summary:
    """All arms in the order of the file; values in the file's units (shares in 0..1)."""

    metrics: tuple[Metric, ...]
    arms: tuple[ArmSummary, ...]

    def best(self, metric: Metric) -> list[str]:
        """Names of the arms with the best mean; several if they tie."""
        means = {arm.name: arm.estimates[metric.key].mean for arm in self.arms}
        known = [mean for mean in means.values() if not math.isnan(mean)]
        if not known:
            return []
        top = max(known) if metric.higher_is_better else min(known)
        return [name for name, mean in means.items() if mean == top]


def summarise(results: Mapping[str, Any]) -> Summary:
    """Mean, s.e. and n for each arm and metric, and paired differences to the first arm."""
    arms = check_results(results)["arms"]
    metrics = metrics_of(arms[0])
    summaries = [
        ArmSummary(
            arm["name"],
            {m.key: estimate(list(by_seed(arm, m).values())) for m in metrics},
            differences(arm, arms[0], metrics) if arm is not arms[0] else {},
        )
        for arm in arms
    ]
    return Summary(metrics, tuple(summaries))


def metrics_of(arm: Arm) -> tuple[Metric, ...]:
    """Error, NLL, ECE, and accuracy at each occlusion level that the runs have."""
    occlusion = (
        Metric(
            f"occlusion/{level}",
            f"accuracy at {level} % occlusion",
            f"Accuracy, {level} % occluded",
            percent=True,
            digits=1,
            higher_is_better=True,
        )
        for level in sorted(arm["runs"][0]["occlusion"], key=int)
    )
    error = Metric("error", "error", "Error, %", percent=True, digits=2)
    nll = Metric("nll", "NLL", "NLL", percent=False, digits=3)
    ece = Metric("ece", "ECE", "ECE, %", percent=True, digits=2)
    return error, nll, ece, *occlusion


def by_seed(arm: Arm, metric: Metric) -> dict[int, float]:
    """The metric of each run of an arm."""
    path = metric.key.split("/")
    return {run["seed"]: float(reduce(getitem, path, run)) for run in arm["runs"]}  # type: ignore[arg-type]


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and its standard error: the sample sd over the root of n.

    >>> estimate([1.0, 2.0, 3.0])
    Estimate(mean=2.0, se=0.5773502691896258, n=3)
    """
    n = len(values)
    se = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    return Estimate(statistics.fmean(values), se, n)


def differences(arm: Arm, against: Arm, metrics: Sequence[Metric]) -> dict[str, Estimate]:
    """`arm` minus `against` in each metric over the seeds that both have; {} if none."""
    paired = {}
    for metric in metrics:
        ours, theirs = by_seed(arm, metric), by_seed(against, metric)
        common = [seed for seed in ours if seed in theirs]
        if common:
            paired[metric.key] = estimate([ours[seed] - theirs[seed] for seed in common])
    return paired


def compare(arm: Arm, against: Arm) -> Comparison:
    """Differences and verdicts of `arm` against another arm."""
    metrics = metrics_of(arm)
    paired = differences(arm, against, metrics)
    verdicts = {m.key: verdict(paired[m.key], m.higher_is_better) for m in metrics if paired}
    return Comparison(arm["name"], against["name"], paired, verdicts)


def verdict(difference: Estimate, higher_is_better: bool) -> Verdict:
    """Better or worse if the 95 % interval (Student's t) of the paired mean excludes 0.

    >>> verdict(Estimate(-0.02, 0.002, 3), higher_is_better=False)
    'better'
    >>> verdict(Estimate(-0.02, 0.005, 3), higher_is_better=False)
    'no difference shown'
    """
    if difference.se is None:
        return "no difference shown"
    if not abs(difference.mean) > t95(difference.n - 1) * difference.se:
        return "no difference shown"
    return "better" if (difference.mean > 0) == higher_is_better else "worse"


def t95(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t; above 30 degrees of freedom that of 30."""
    return _T95[min(freedom, len(_T95)) - 1]
