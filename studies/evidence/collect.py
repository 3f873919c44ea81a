"""Keep the numbers of every finished run, and write tables and charts of docs/results/evidence.md.

    python -m studies.evidence.collect softaug-reproduce/cpu

Without a folder they are made again from runs/. Every measure of every arm: tables.md.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from softaug.lab.evaluation.stats import estimate
from softaug.lab.recipes.budgets import EPOCHS, FAR, MILD, SOFT, budget_name, crop_arm
from softaug.lab.recipes.paper_tables import find_tables
from studies.collect import (
    ALL_MEASURES,
    ECE,
    ERROR,
    HIDDEN,
    IMAGES,
    MAIN_MEASURES,
    PAGES,
    Measure,
    Values,
    as_table,
    by_seed,
    differences,
    estimate_over_seeds,
    format_spread,
    keep_runs,
    means,
    plot_over_epochs,
    put_between_markers,
    read_runs,
    write_tables,
)

KEPT = Path(__file__).parent
PAGE = PAGES / "evidence.md"
STUDIES = ("evidence", "variants", "budgets")
MIDDLE = "cifar10", 40
ONLY_IN_TABLES = ("ways", "policies")  # the page answers these in words


def evidence_recipes() -> dict[str, None]:
    """Return the names of all rows of the studies, in their order."""
    return dict.fromkeys(name for study in find_tables(STUDIES) for name in study.recipes)


def arms_of(values: Values, data: str, epochs: int) -> dict[str, str]:
    """Return the arms that have runs, in the studies' order."""
    start = budget_name(data, epochs, "")
    return {
        name.removeprefix(start): name
        for name in evidence_recipes()
        if name.startswith(start) and name in values
    }


def pairs_of(values: Values, data: str, wanted: dict[str, tuple[str, str]]) -> Any:
    """Return those of the comparisons whose arms both have runs."""
    full = {
        words: (budget_name(data, 40, first), budget_name(data, 40, second))
        for words, (first, second) in wanted.items()
    }
    return {words: pair for words, pair in full.items() if all(name in values for name in pair)}


SAME_CROP = {
    "sigma 0.1, k 1: soft target against hard labels": (MILD, "hard-labels-sigma0.1"),
    "sigma 0.3, k 2: soft target against hard labels": (FAR, "hard-labels-sigma0.3"),
}
AGAINST_HARD = {
    "soft target, sigma 0.1, k 1": (MILD, "hard"),
    "soft target and weight, sigma 0.1, k 1": ("both-sigma0.1-k1", "hard"),
    "hard labels, sigma 0.1": ("hard-labels-sigma0.1", "hard"),
    "soft target, sigma 0.3, k 2": (FAR, "hard"),
}
WAYS = {
    "weight against target": ("weight-sigma0.1-k1", MILD),
    "both against target": ("both-sigma0.1-k1", MILD),
    "both: batch_mean against sample": ("both-batch-mean-sigma0.1-k1", "both-sigma0.1-k1"),
}
POLICIES = {
    f"{words}: soft target against hard": (f"{MILD}-{policy}", f"hard-{policy}")
    for policy, words in (("randaugment", "RandAugment"), ("trivialaugment", "TrivialAugment"))
}


def make_budgets(values: Values, shown: Sequence[Measure]) -> str:
    """Make a table of measures by epochs and sigma."""
    arms = ["hard", *(crop_arm("target", *crop) for crop in SOFT["cifar10"])]
    lines = [["arm", *(f"{m.head}: {epochs} epochs" for m in shown for epochs in EPOCHS)]]
    for arm in arms:
        cells = [_budget_cell(values, arm, epochs, m) for m in shown for epochs in EPOCHS]
        lines.append([arm, *cells])
    return as_table(lines)


def _budget_cell(values: Values, arm: str, epochs: int, measure: Measure) -> str:
    name = budget_name("cifar10", epochs, arm)
    if name not in values:
        return "not run"
    found = estimate_over_seeds(values, name, measure)
    return f"{format_spread(found, measure)} (n = {found.n})"


def make_tuning() -> str:
    """Make a table of what was tried on held-out images."""
    lines = [["arm", "settings", "error, %", "NLL", "ECE (10 bins), %"]]
    for row in json.loads((KEPT / "tuning.json").read_text()):
        settings = ", ".join(f"`{name}` {value}" for name, value in row["changes"].items())
        numbers = f"{100 * row['error']:.2f}", f"{row['nll']:.3f}", f"{100 * row['ece']:.2f}"
        lines.append([row["arm"], settings, *numbers])
    return as_table(lines)


def plot_occlusion(values: Values) -> None:
    """Draw accuracy by the share that is hidden."""
    shares = [0, 20, 40, 60, 80]
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for arm in ("hard", "hard-labels-sigma0.1", MILD, "hard-labels-sigma0.3", FAR):
        name = budget_name(*MIDDLE, arm)
        whole = estimate([1 - error for error in by_seed(values, name, "error").values()])
        hidden = [estimate_over_seeds(values, name, measure) for measure in HIDDEN]
        found = [whole, *hidden]
        middles = [100 * one.mean for one in found]
        axes.errorbar(shares, middles, [100 * (one.se or 0) for one in found], label=arm, capsize=2)
    axes.set(xlabel="share of the image hidden, %", ylabel="accuracy, %", xticks=shares)
    axes.set_title("CIFAR-10, 5,000 images, 40 epochs")
    axes.legend(frameon=False)
    figure.savefig(IMAGES / "evidence-occlusion.png", dpi=150)


def plot_budgets(values: Values) -> None:
    """Draw error, ECE and accuracy under occlusion by epochs."""
    figure, every = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    soft = [crop_arm("target", *crop) for crop in SOFT["cifar10"]]
    arms = {a: {e: budget_name("cifar10", e, a) for e in EPOCHS} for a in ("hard", *soft)}
    for axes, measure in zip(every, (ERROR, ECE, HIDDEN[1]), strict=True):
        plot_over_epochs(axes, values, measure, arms)
    every[0].legend(frameon=False, fontsize="small")
    figure.savefig(IMAGES / "evidence-budgets.png", dpi=150)


def main() -> None:
    """Collect, then write tables and charts."""
    if sys.argv[1:]:
        keep_runs(Path(sys.argv[1]) / "runs", evidence_recipes(), KEPT / "runs")
    values = read_runs(KEPT / "runs")
    groups = {
        "same-crop": ("cifar10", SAME_CROP),
        "mild": ("cifar10", AGAINST_HARD),
        "ways": ("cifar10", WAYS),
        "policies": ("cifar10", POLICIES),
        "cifar100": ("cifar100", AGAINST_HARD),
    }
    full = {
        f"{data}, 40 epochs": means(values, arms_of(values, data, 40))
        for data in ("cifar10", "cifar100")
    }
    for name, (data, wanted) in groups.items():
        pairs = pairs_of(values, data, wanted)
        if name not in ONLY_IN_TABLES:
            put_between_markers(differences(values, pairs, MAIN_MEASURES), PAGE, name)
        full[f"Differences: {name}"] = differences(values, pairs, ALL_MEASURES)
    put_between_markers(make_budgets(values, [ERROR]), PAGE, "budgets")
    full["Epochs and sigma"] = make_budgets(values, (ERROR, ECE, HIDDEN[1]))
    full["Tried on held-out images, one seed each"] = make_tuning()
    write_tables(KEPT / "tables.md", "Evidence: all measures", full)
    plot_occlusion(values)
    plot_budgets(values)


if __name__ == "__main__":
    main()
