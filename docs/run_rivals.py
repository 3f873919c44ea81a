"""The runs of docs/rivals.md: every arm with every seed, then one comparison.

    python docs/run_rivals.py RUNS [--seeds 3] [--processes 2]

Finished runs are only read, broken ones go on: the same command can be given again. Then
docs/collect_rivals.py puts the numbers into the page.
"""

import argparse
import subprocess
import sys
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
FAMILY = "cifar10-resnet8-s2"
BUDGET = ["--data.per-class", "500", "--data.validation", "5000", "--epochs", "40"]


def softaug(*words: object) -> None:
    """Run a command of the library; one thread, so that its bits repeat."""
    subprocess.run([sys.executable, "-m", "softaug", *map(str, words)], check=True)


def run(folder: Path, arm: str, seed: int) -> None:
    """Train and measure one network."""
    name = f"{FAMILY}-{arm}"
    softaug("train", name, *BUDGET, "--seed", seed, "--threads", 1, "--out", folder)
    if not (folder / "evaluation.json").exists():
        softaug("evaluate", folder, "--draws", 1)


def main() -> None:
    """All runs, `--processes` at a time, then the comparison with the first arm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    todo = [(arm, seed) for seed in range(chosen.seeds) for arm in ARMS]
    folders = [chosen.runs / f"{arm}-seed{seed}" for arm, seed in todo]
    with ThreadPoolExecutor(chosen.processes) as pool:
        list(pool.map(run, folders, *zip(*todo, strict=True)))
    softaug("compare", *folders, "--out", chosen.runs / "comparison")


if __name__ == "__main__":
    main()
