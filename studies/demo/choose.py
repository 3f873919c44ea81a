"""Choose the settings of the demo's three arms on held-out images of Fashion-MNIST.

    python -m studies.demo.choose RUNS [--epochs 24]

51 runs, about 12 minutes of one core of an AMD EPYC; finished ones are only read. Writes
held-out.json.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console

from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.rows import change
from softaug.lab.training.command import train
from softaug.lab.training.run_dir import RunOptions

RESULTS = Path(__file__).with_name("held-out.json")
SEEDS = range(3)
TIE = 0.2  # points of error, within which the lower NLL decides
# 2,000 other training images than the demo's, measured on 10,000 more
BUDGET = {"data.name": "fashion-mnist", "data.per_class": 200, "data.validation": 10_000}
METRICS = ("error", "nll", "ece")
SHIFT, SIGMA, K = "augment.crop.max_shift", "augment.crop.sigma", "augment.crop.k"
SOFTEN, SMOOTHING = "loss.soften", "loss.label_smoothing"


def list_settings() -> list[tuple[str, dict[str, Any]]]:
    """Return (arm, changed settings) of every candidate."""
    normal = {K: None, SOFTEN: "none"}  # crops of the soft arm with hard labels
    return [
        *(("hard", {SHIFT: shift}) for shift in (0, 1, 2, 3)),
        *(("hard-normal", {SIGMA: sigma, **normal}) for sigma in (0.03, 0.05)),
        *(("label-smoothing", {SHIFT: 1, SMOOTHING: part}) for part in (0.05, 0.1, 0.2)),
        ("label-smoothing-normal", {SIGMA: 0.03, **normal, SMOOTHING: 0.1}),
        *(("label-smoothing-normal", {SIGMA: 0.05, **normal, SMOOTHING: p}) for p in (0.05, 0.1)),
        *(("soft", {SIGMA: sigma, K: 1.0}) for sigma in (0.03, 0.05, 0.07)),
        *(("soft", {SIGMA: sigma, K: 2.0}) for sigma in (0.03, 0.05)),
    ]


def measure(runs: Path, arm: str, settings: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Train a candidate with every seed; return its metrics on the held-out images."""
    parent = find(f"fashion-mini-resnet8-tiny-{'soft' if 'normal' in arm else arm}").recipe
    rows = []
    for seed in SEEDS:
        recipe = change(parent, {**BUDGET, **settings, "epochs": epochs, "seed": seed})
        name = "-".join(map(str, [arm, *settings.values(), epochs, seed]))
        options = RunOptions(out=runs / name, device="cpu", threads=1, evaluate_epochs=epochs)
        result = train(recipe, options, Console(quiet=True))
        assert result["split"] == "validation", result["split"]
        rows.append(
            {"error": 100 * result["error"], "nll": result["nll"], "ece": 100 * result["ece"]}
        )
    values = {key: [round(row[key], 4) for row in rows] for key in METRICS}
    return {"arm": arm, "settings": settings, "epochs": epochs, **values}


def choose(candidates: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the candidate of lowest mean error; among ties the one of lowest NLL."""
    least = min(mean(one["error"]) for one in candidates)
    ties = [one for one in candidates if mean(one["error"]) <= least + TIE]
    return min(ties, key=lambda one: mean(one["nll"]))


def format_row(row: dict[str, Any], chosen: bool) -> str:
    """Return a row of a Markdown table: means over seeds."""
    words = " ".join(
        f"{name.rpartition('.')[2]} {value}" for name, value in row["settings"].items()
    )
    error, nll, ece = (mean(row[key]) for key in METRICS)
    cells = [row["arm"], words, f"{error:.2f}", f"{nll:.3f}", f"{ece:.1f}"]
    return "| " + " | ".join(f"**{cell}**" if chosen else cell for cell in cells) + " |"


def main() -> None:
    """Measure every candidate, write the file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--epochs", type=int, default=24)
    given = parser.parse_args()
    rows = []
    for arm, settings in list_settings():
        rows.append(measure(given.runs, arm, settings, given.epochs))
        print(format_row(rows[-1], chosen=False), flush=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    arms: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        arms.setdefault(row["arm"].partition("-normal")[0], []).append(row)
    for candidates in arms.values():
        print(format_row(choose(candidates), chosen=True))


if __name__ == "__main__":
    main()
