"""What docs/self-paced.md chose on held-out images: networks for each setting that was tried.

    python docs/tune_pacing.py RUNS [--processes 2]

Finished runs are only read, broken ones go on. Writes docs/results/self-paced/tuning.json and the
page's table; with --table the table alone, from that file.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from collect_runs import put_between_markers
from kept_runs import ECE, ERROR, HIDDEN, NLL, as_table, slim, spread

from softaug.metrics import estimate
from softaug.recipes.budgets import MIDDLE, PACED, PAPER, TUNED, budget_name, crop_arm

DOCS = Path(__file__).parent
PAGE, KEPT = DOCS / "self-paced.md", DOCS / "results" / "self-paced" / "tuning.json"
SEEDS = range(3)
HELD_OUT = 5000
MEASURES = (ERROR, NLL, ECE, *HIDDEN)
ARMS: list[tuple[str, dict[str, Any]]] = [
    ("hard", {}),
    (crop_arm("target", *TUNED), {}),
    (crop_arm("target", *PAPER), {}),
    (PACED, {}),
    (PACED, {"pace.settle": 0}),
    (PACED, {"pace.settle": 0.2}),
    (PACED, {"pace.since": 0.35}),
    (PACED, {"crop.k": 1.0}),
    (PACED, {"pace.rule": "accuracy-line"}),
    (PACED, {"pace.rule": "confidence-match"}),
    (PACED, {"pace.rule": "held-out-gap", "pace.held-out": 250}),
]


def measure(runs: Path, arm: str, changes: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train one network, measure it on images that it has not seen; what its evaluation says."""
    words = [arm, *(f"{name.split('.')[-1]}{value}" for name, value in changes.items())]
    out = runs / f"{'-'.join(words)}-seed{seed}"
    if not (out / "evaluation.json").exists():
        given = [f"--augment.{name}={value}" for name, value in changes.items()]
        given += [f"--data.validation={HELD_OUT}", f"--seed={seed}", "--threads=1", f"--out={out}"]
        softaug = [sys.executable, "-m", "softaug"]
        subprocess.run([*softaug, "train", budget_name("cifar10", MIDDLE, arm), *given], check=True)
        subprocess.run([*softaug, "evaluate", str(out), "--held-out", "--draws=1"], check=True)
    found = slim(json.loads((out / "evaluation.json").read_text()))
    assert found["split"] == "validation"
    return {"arm": arm, "changes": changes, **found}


def table(rows: list[dict[str, Any]]) -> str:
    """A row for each setting: mean ± standard error over its seeds."""
    groups: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        words = [row["arm"], *(f"`{name}` {value}" for name, value in row["changes"].items())]
        groups.setdefault(", ".join(words), []).append(row["measures"])
    lines = [["arm", "n", *(one.head for one in MEASURES)]]
    for words, found in groups.items():
        cells = [spread(estimate([each[m.key] for each in found]), m) for m in MEASURES]
        lines.append([words, str(len(found)), *cells])
    return as_table(lines)


def main() -> None:
    """All trials, the file, the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    if not chosen.table:
        every = [(chosen.runs, *arm, seed) for seed in SEEDS for arm in ARMS]
        with ThreadPoolExecutor(chosen.processes) as pool:
            rows = list(pool.map(lambda trial: measure(*trial), every))
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")
    put_between_markers(table(json.loads(KEPT.read_text())), PAGE, "tuning")


if __name__ == "__main__":
    main()
