"""Try settings on held-out images: the choices of docs/results/evidence.md, a network each.

    python -m studies.evidence.tune RUNS [--processes 2]

Finished runs are only read, interrupted ones resume. Writes tuning.json.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("tuning.json")
BUDGET = {"data.per-class": 500, "data.validation": 5000, "epochs": 40, "seed": 0, "threads": 1}
BASELINE = [
    (64, 0.05),
    (64, 0.1),
    (64, 0.2),
    (32, 0.05),
    (32, 0.1),
    (32, 0.2),
    (16, 0.1),
    (128, 0.2),
]
CHOSEN = {"batch": 32, "optim.lr": 0.1}
SOFT = [  # sigma, k, what softens, label smoothing
    (0.05, 2, "target", 0),
    (0.1, 2, "target", 0),
    (0.15, 2, "target", 0),
    (0.2, 2, "target", 0),
    (0.1, 1, "target", 0),
    (0.1, 4, "target", 0),
    (0.1, 2, "both", 0),
    (0.1, 2, "target", 0.05),
]


def trials() -> list[tuple[str, dict[str, Any]]]:
    """Return (arm, changes) of every run."""
    names = ("augment.crop.sigma", "augment.crop.k", "loss.soften", "loss.label-smoothing")
    hard = [("hard", {"batch": batch, "optim.lr": lr}) for batch, lr in BASELINE]
    soft = [("soft-mild", CHOSEN | dict(zip(names, each, strict=True))) for each in SOFT]
    return hard + soft


def folder(runs: Path, arm: str, changes: dict[str, Any]) -> Path:
    """Return the folder of a trial, named by what was changed."""
    return runs / "-".join([arm, *(f"{name.split('.')[-1]}{v}" for name, v in changes.items())])


def train(out: Path, arm: str, changes: dict[str, Any]) -> None:
    """Train one network with one thread, so that its bits repeat."""
    words = [f"--{name}={value}" for name, value in {**BUDGET, **changes, "out": out}.items()]
    command = [sys.executable, "-m", "softaug", "train", f"cifar10-resnet8-s2-{arm}", *words]
    subprocess.run(command, check=True)


def held_out(out: Path) -> dict[str, float]:
    """Return error, NLL and ECE on the held-out images."""
    result = json.loads((out / "result.json").read_text())
    assert result["split"] == "validation"
    return {"error": result["error"], "nll": result["nll"], "ece": result["ece"]}


def main() -> None:
    """Run all trials, then write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    every = trials()
    folders = [folder(chosen.runs, *trial) for trial in every]
    with ThreadPoolExecutor(chosen.processes) as pool:
        list(pool.map(train, folders, *zip(*every, strict=True)))
    found = zip(every, folders, strict=True)
    rows = [{"arm": arm, "changes": changes, **held_out(out)} for (arm, changes), out in found]
    KEPT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
