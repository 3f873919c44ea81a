"""How strength, softening and budget interact on digits, measured on the validation split.

    python -m softaug.training.study docs/results/digits-study.json [PART ...]

Without a PART all are run: half an hour or so on two idle cores. Parts that are not run
stay in the file as they are. What came out, and the demo's settings: docs/method.md.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from softaug.files import write_json
from softaug.losses import SoftLoss
from softaug.training.arms import Arm, Plan
from softaug.training.environment import environment, num_cores
from softaug.training.trial import Trial
from softaug.training.workers import run_trials
from softaug.transforms import SoftCrop, UniformCrop

SEEDS = (0, 1, 2, 3)
SIGMAS = (0.05, 0.1, 0.15, 0.2, 0.3)
REACHES = (0, 1, 2, 3, 4)  # pixels of 16
EPOCHS = (20, 60, 200)
GREY = 128  # a fill that, unlike black, is no digit's background
KEPT = ("error", "nll", "ece", "gap", "train_loss")


@dataclass(frozen=True)
class Cell:
    """One setting of the grid; `strength` is a reach in pixels or a sigma."""

    part: str
    crop: str  # "uniform" or "normal"
    strength: float
    soften: str
    epochs: int
    k: float = 2.0
    lr: float = 0.1
    fill: int = 0
    num_train: int = 200

    def arm(self) -> Arm:
        loss = SoftLoss(soften=self.soften)
        if self.crop == "uniform":
            return Arm("uniform", UniformCrop(int(self.strength), self.k, self.fill), loss)
        return Arm("normal", SoftCrop(self.strength, self.k, self.fill), loss)

    def trial(self, seed: int) -> Trial:
        plan = Plan(self.epochs, lr=self.lr)
        return Trial(
            self.arm(),
            seed,
            plan,
            self.num_train,
            width=8,
            split="validation",
            occlusion_draws=2,
            occlusion_fill=0,
        )


def cells() -> Iterator[Cell]:
    """The grid: every strength at every budget, then one change at a time around it."""
    for epochs in EPOCHS:
        yield from (Cell("main", "uniform", reach, "none", epochs) for reach in REACHES)
        for soften in ("none", "target", "both"):
            yield from (Cell("main", "normal", sigma, soften, epochs) for sigma in SIGMAS)
    for k in (1.0, 4.0):
        yield from (Cell("k", "normal", sigma, "target", 60, k=k) for sigma in SIGMAS)
    for soften in ("none", "target"):
        yield from (Cell("fill", "normal", sigma, soften, 60, fill=GREY) for sigma in (0.1, 0.3))
    for lr in (0.05, 0.2):
        yield Cell("lr", "uniform", 2, "none", 60, lr=lr)
        yield Cell("lr", "normal", 0.1, "target", 60, lr=lr)
    yield from (Cell("demo", "normal", 0.3, "both", 200, k=k) for k in (1.0, 3.0, 4.0, 6.0))
    yield Cell("long", "uniform", 1, "none", 600)
    yield from (Cell("long", "normal", sigma, "both", 600) for sigma in (0.05, 0.3))


def run_study(cells: list[Cell], seeds: tuple[int, ...], path: Path, console: Console) -> Path:
    """Run every cell with every seed; write each measure, seed by seed, to `path`."""
    jobs = [(cell, seed) for cell in cells for seed in seeds]
    jobs.sort(key=lambda job: -job[0].trial(0).num_images)  # long ones first: none is waited for
    runs = run_trials([cell.trial(seed) for cell, seed in jobs], num_cores(), console)
    found: dict[Cell, list[dict[str, Any]]] = {cell: [] for cell in cells}
    for (cell, _), run in zip(jobs, runs, strict=True):
        found[cell].append(run)
    stamp = {"split": "validation", "seeds": list(seeds), "environment": environment()}
    study: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for part in dict.fromkeys(cell.part for cell in cells):
        rows = [{**vars(cell), **_columns(found[cell])} for cell in cells if cell.part == part]
        study[part] = {**stamp, "cells": rows}
    return write_json(study, path)


def _columns(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One list for each measure, a value for each seed."""
    columns = {name: [round(run[name], 4) for run in runs] for name in KEPT}
    hidden = {
        percent: [round(run["occlusion"][percent], 4) for run in runs]
        for percent in ("20", "40", "60", "80")
    }
    return {**columns, "occlusion": hidden}


if __name__ == "__main__":
    parts = sys.argv[2:] or [cell.part for cell in cells()]
    chosen = [cell for cell in cells() if cell.part in parts]
    print(run_study(chosen, SEEDS, Path(sys.argv[1]), Console()))
