"""Keep the results of the runs, and write table and chart of docs/results/cifar100-small.md.

    python -m studies.cifar100_small.collect runs/*

Without run folders they are made again from results.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from softaug.lab.evaluation.stats import Estimate, estimate
from studies.collect import IMAGES, PAGES, Measure, as_table, format_spread, put_between_markers

PAGE, KEPT = PAGES / "cifar100-small.md", Path(__file__).with_name("results.json")
MEASURES = (
    Measure("error", "error, %", digits=1),
    Measure("nll", "NLL", 1, 3),
    Measure("ece", "ECE, %", digits=1),
    Measure("train_error", "training error, %", digits=1),
)
FAMILY = "cifar100-resnet8-s2-"
Arms = dict[str, dict[str, Estimate]]


def estimate_arms(results: list[dict[str, Any]]) -> Arms:
    """Return each arm's estimates over its seeds, lowest error first."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        runs.setdefault(result["recipe"]["name"].removeprefix(FAMILY), []).append(result)
    arms = {
        name: {m.key: estimate([run[m.key] for run in each]) for m in MEASURES}
        for name, each in runs.items()
    }
    return dict(sorted(arms.items(), key=lambda arm: arm[1]["error"].mean))


def make_table(arms: Arms) -> str:
    """Make a row for each arm: mean ± standard error over its seeds."""
    lines = [["arm", "n", *(measure.head for measure in MEASURES)]]
    for name, found in arms.items():
        cells = [format_spread(found[measure.key], measure) for measure in MEASURES]
        lines.append([name, str(found["error"].n), *cells])
    return as_table(lines)


def plot(arms: Arms) -> None:
    """Draw error, NLL and ECE of each arm with standard errors."""
    figure, every = plt.subplots(1, 3, figsize=(9, 2.4), sharey=True, layout="constrained")
    names = list(arms)[::-1]
    for axes, measure in zip(every, MEASURES, strict=False):
        found = [arms[name][measure.key] for name in names]
        middles = [measure.scale * one.mean for one in found]
        bars = [measure.scale * (one.se or 0) for one in found]
        axes.errorbar(middles, range(len(names)), xerr=bars, fmt="o", capsize=2)
        axes.set_title(measure.head, fontsize=10)
        axes.set_yticks(range(len(names)), names)
    figure.savefig(IMAGES / "cifar100-small.png", dpi=150)


def main() -> None:
    """Collect, then write table and chart."""
    if sys.argv[1:]:
        results = [json.loads((Path(run) / "result.json").read_text()) for run in sys.argv[1:]]
        results.sort(key=lambda result: (result["recipe"]["name"], result["seed"]))
        KEPT.write_text(json.dumps(results, indent=1) + "\n")
    arms = estimate_arms(json.loads(KEPT.read_text()))
    put_between_markers(make_table(arms), PAGE, "means")
    plot(arms)


if __name__ == "__main__":
    main()
