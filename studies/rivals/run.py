"""Train every arm of docs/results/rivals.md with every seed, then compare them.

    python -m studies.rivals.run RUNS --tune             # first: strengths, on held-out images
    python -m studies.rivals.run RUNS [--seeds 3] [--processes 2]

Finished runs are only read, interrupted ones resume.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ARMS = (
    "hard",
    "label-smoothing",
    "mixup",
    "cutout",
    "randaugment",
    "trivialaugment",
    "soft-mild",
    "soft-mild-trivialaugment",
    "soft-policy-naive",
    "soft-policy",
)
SOFT_POLICIES = (
    "trivialaugment",
    "soft-policy-naive",
    "soft-policy",
)  # the first is their baseline
TRIALS = {  # an arm's strength, and what was tried
    "soft-mild": ("augment.crop.sigma", (0.05, 0.1, 0.15)),
    "label-smoothing": ("loss.label-smoothing", (0.05, 0.1)),
    "mixup": ("mix.alpha", (0.2, 1.0)),
    "cutout": ("augment.cutout.length", (8, 16)),
}
FAMILY = "cifar10-resnet8-s2"
BUDGET = ["--data.per-class", "500", "--data.validation", "5000", "--epochs", "40"]


def softaug(*words: object) -> None:
    """Run a command of the library."""
    subprocess.run([sys.executable, "-m", "softaug", *map(str, words)], check=True)


def train(folder: Path, arm: str, seed: int, *changes: object) -> None:
    """Train one network with one thread, so that its bits repeat."""
    words = [f"{FAMILY}-{arm}", *BUDGET, "--seed", seed, "--threads", 1, "--out", folder, *changes]
    softaug("train", *words)


def train_and_measure(folder: Path, arm: str, seed: int) -> None:
    """Train one network and evaluate it on the test images."""
    train(folder, arm, seed)
    if not (folder / "evaluation.json").exists():
        softaug("evaluate", folder, "--draws", 1)


def tune(runs: Path, pool: ThreadPoolExecutor) -> None:
    """Train each strength with seed 0; write errors on held-out images to RUNS/tuning.json."""
    todo = [(arm, f"--{name}", value) for arm, (name, values) in TRIALS.items() for value in values]
    folders = [runs / "tuning" / f"{arm}-{value:g}" for arm, _, value in todo]
    list(pool.map(lambda folder, trial: train(folder, trial[0], 0, *trial[1:]), folders, todo))
    rows = [
        {"arm": arm, "setting": name[2:], "value": value, **_held_out(folder)}
        for (arm, name, value), folder in zip(todo, folders, strict=True)
    ]
    (runs / "tuning.json").write_text(json.dumps(rows, indent=1) + "\n")


def _held_out(folder: Path) -> dict[str, float]:
    result = json.loads((folder / "result.json").read_text())
    assert result["split"] == "validation"
    return {name: result[name] for name in ("error", "nll", "ece")}


def compare(runs: Path, arms: Sequence[str], seeds: int, out: str) -> None:
    """Compare all arms with the first."""
    folders = [runs / f"{arm}-seed{seed}" for arm in arms for seed in range(seeds)]
    softaug("compare", *folders, "--out", runs / out)


def main() -> None:
    """Do all runs, `--processes` at a time, then the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument(
        "--tune", action="store_true", help="only try strengths, on held-out images"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    with ThreadPoolExecutor(chosen.processes) as pool:
        if chosen.tune:
            tune(chosen.runs, pool)
            return
        todo = [(arm, seed) for seed in range(chosen.seeds) for arm in ARMS]
        folders = [chosen.runs / f"{arm}-seed{seed}" for arm, seed in todo]
        list(pool.map(train_and_measure, folders, *zip(*todo, strict=True)))
    compare(chosen.runs, ARMS, chosen.seeds, "comparison")
    compare(chosen.runs, SOFT_POLICIES, chosen.seeds, "comparison-policy")
    compare(chosen.runs, SOFT_POLICIES[1:], chosen.seeds, "comparison-curves")


if __name__ == "__main__":
    main()
