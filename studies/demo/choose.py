"""Choose the settings of the demo's three arms on held-out images of Fashion-MNIST.

    python -m studies.demo.choose RUNS [--epochs 24]

51 runs, about 12 minutes of one core of an AMD EPYC; finished ones are only read. Writes
held-out.json and prints its table, the chosen rows in bold.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from rich.console import Console

from softaug.lab.recipes.augment import NormalOffsets, UniformOffsets
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


class Candidate(NamedTuple):
    """Settings to try for an arm."""

    arm: str
    crop: UniformOffsets | NormalOffsets
    label_smoothing: float = 0.0

    @property
    def words(self) -> str:
        """The settings in words."""
        if isinstance(self.crop, NormalOffsets):
            crop = f"sigma {self.crop.sigma}"
            crop += "" if self.crop.k is None else f", k {self.crop.k:g}"
        else:
            crop = f"{self.crop.max_shift} px"
        return crop + (f", smoothing {self.label_smoothing}" if self.label_smoothing else "")

    def changes(self) -> dict[str, Any]:
        """The settings by the names of a recipe."""
        soften = "target" if self.arm == "soft" else "none"
        return {
            "augment.crop": self.crop,
            "loss.soften": soften,
            "loss.label_smoothing": self.label_smoothing,
        }


def list_candidates() -> list[Candidate]:
    """Return what is tried: crops, smoothings, and softening curves."""
    pixels = [UniformOffsets(shift, fill="black") for shift in range(4)]
    normal = [NormalOffsets(sigma, None, fill="black") for sigma in (0.03, 0.05)]
    soft = [(0.03, 1.0), (0.05, 1.0), (0.07, 1.0), (0.03, 2.0), (0.05, 2.0)]
    return [
        *(Candidate("hard", crop) for crop in pixels),
        *(Candidate("hard", crop) for crop in normal),
        *(Candidate("label-smoothing", pixels[1], part) for part in (0.05, 0.1, 0.2)),
        Candidate("label-smoothing", normal[0], 0.1),
        *(Candidate("label-smoothing", normal[1], part) for part in (0.05, 0.1)),
        *(Candidate("soft", NormalOffsets(sigma, k, fill="black")) for sigma, k in soft),
    ]


def measure(runs: Path, candidate: Candidate, epochs: int) -> dict[str, Any]:
    """Train a candidate with every seed; return its metrics on the held-out images."""
    parent = find("fashion-mini-resnet8-tiny-soft").recipe
    results = []
    for seed in SEEDS:
        settings = {**BUDGET, **candidate.changes(), "epochs": epochs, "seed": seed}
        folder = runs / f"{candidate.arm}, {candidate.words}, {epochs} epochs, seed {seed}"
        options = RunOptions(out=folder, device="cpu", threads=1, evaluate_epochs=epochs)
        results.append(train(change(parent, settings), options, Console(quiet=True)))
    assert {result["split"] for result in results} == {"validation"}
    scales = {"error": 100, "nll": 1, "ece": 100}
    values = {
        key: [round(scale * result[key], 4) for result in results] for key, scale in scales.items()
    }
    return {"arm": candidate.arm, "settings": candidate.words, "epochs": epochs, **values}


def choose(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of lowest mean error; among ties the one of lowest NLL."""
    least = min(mean(row["error"]) for row in rows)
    ties = [row for row in rows if mean(row["error"]) <= least + TIE]
    return min(ties, key=lambda row: mean(row["nll"]))


def format_row(row: dict[str, Any], chosen: bool) -> str:
    """Return a row of a Markdown table: means over seeds."""
    error, nll, ece = (mean(row[key]) for key in METRICS)
    cells = [row["arm"], row["settings"], f"{error:.2f}", f"{nll:.3f}", f"{ece:.1f}"]
    return "| " + " | ".join(f"**{cell}**" if chosen else cell for cell in cells) + " |"


def main() -> None:
    """Measure every candidate, write the file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--epochs", type=int, default=24)
    given = parser.parse_args()
    rows = [measure(given.runs, one, given.epochs) for one in list_candidates()]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    arms = dict.fromkeys(row["arm"] for row in rows)
    chosen = [choose([row for row in rows if row["arm"] == arm]) for arm in arms]
    for row in rows:
        print(format_row(row, row in chosen))


if __name__ == "__main__":
    main()
