"""Means, standard errors and paired differences over seeds: the numbers behind every table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any

from softaug.lab.evaluation.stats import Estimate, Word, estimate, verdict
from softaug.lab.report.results import Arm, check_results


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
    verdicts: dict[str, Word]


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
    verdicts = {
        m.key: verdict(paired[m.key], higher_is_better=m.higher_is_better).word
        for m in metrics
        if paired
    }
    return Comparison(arm["name"], against["name"], paired, verdicts)
