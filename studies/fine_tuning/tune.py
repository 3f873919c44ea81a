"""Choose the settings of each arm on held-out training images, a few trials each.

    python -m studies.fine_tuning.tune RUNS [cifar10 imagenette]

RUNS holds the pretrained run, and takes the trials. Each arm tries both learning rates with its
first strength, then its second strength with the better one. Writes tuning.json.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from rich.console import Console

from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.rows import change
from softaug.lab.training.command import train
from softaug.lab.training.run_dir import RunOptions

KEPT = Path(__file__).with_name("tuning.json")
LEARNING_RATES = (0.01, 0.05)
# What holds images out, and the seeds of a trial: 300 photographs say less than 10,000 images.
DATA = {
    "cifar10": ({"data.validation": 10_000}, (0,)),
    "imagenette": ({"data.validation": 300, "data.per_class": 90}, (0, 1)),
}
CROPS = {
    "cifar10": ("augment.crop.max_shift", [4, 2]),
    "imagenette": ("augment.crop.scale", [(0.35, 1.0), (0.08, 1.0)]),
}
STRENGTHS = {
    "label-smoothing": ("loss.label_smoothing", [0.1, 0.2]),
    "soft": ("augment.crop.sigma", [0.1, 0.2]),
}


def run_trial(runs: Path, data: str, arm: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Train one setting with each of its seeds; return the means on the held-out images."""
    held_out, seeds = DATA[data]
    words = re.sub(r"[^\w.]+", "-", "-".join(f"{k.split('.')[-1]}{v}" for k, v in changes.items()))
    row = find(f"{data}-resnet8-s2-finetune-{arm}").recipe
    results = []
    for seed in seeds:
        recipe = change(row, {**held_out, **changes, "seed": seed})
        options = RunOptions(runs / f"trial-{row.name}-{words}-seed{seed}", threads=1, workers=0)
        results.append(train(recipe, options, Console()))
    assert {result["split"] for result in results} == {"validation"}
    keys = ("error", "nll", "ece", "train_error_clean")
    means = {key: sum(result[key] for result in results) / len(results) for key in keys}
    return {"data": data, "arm": arm, "changes": changes, "n": len(seeds), **means}


def tune_arm(
    runs: Path, data: str, arm: str, setting: str, strengths: list[Any], fixed: dict[str, Any]
) -> list[dict[str, Any]]:
    """Try both learning rates with the first strength, then the second with the better."""
    first, second = strengths
    trials = [
        run_trial(runs, data, arm, {"optim.lr": lr, setting: first, **fixed})
        for lr in LEARNING_RATES
    ]
    lr = choose(trials)["optim.lr"]
    return [*trials, run_trial(runs, data, arm, {"optim.lr": lr, setting: second, **fixed})]


def choose(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of the smallest error."""
    changes: dict[str, Any] = min(trials, key=lambda trial: trial["error"])["changes"]
    return changes


def main() -> None:
    """Tune the hard crop first: smoothed labels take its crop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("data", nargs="*", default=list(CROPS))
    chosen = parser.parse_args()
    runs, rows = chosen.runs, json.loads(KEPT.read_text()) if KEPT.exists() else []
    rows = [row for row in rows if row["data"] not in chosen.data]
    for data in chosen.data:
        setting, crops = CROPS[data]
        hard = tune_arm(runs, data, "hard", setting, crops, {})
        crop = {setting: choose(hard)[setting]}
        rows += hard
        for arm, (name, strengths) in STRENGTHS.items():
            rows += tune_arm(runs, data, arm, name, strengths, crop if arm != "soft" else {})
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
