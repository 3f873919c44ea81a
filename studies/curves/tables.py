"""Write the table of fitted curves into docs/results/curves.md.

    python -m studies.curves.tables softaug/transforms/curves_data/cifar100.json

That of the network trained without the operations, cifar100-hard.json, goes into README.md.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

from studies.collect import PAGES, as_table, put_between_markers

PAGE = PAGES / "curves.md"
README = Path(__file__).with_name("README.md")
WITHOUT = Path(__file__).with_name("cifar100-hard.json")
HEADS = ["operation", "loss", "k", "misfit", "accuracy at full strength, %"]


def make_table(content: dict[str, Any]) -> str:
    """Make a row for each operation: its power curve, with standard errors over images."""
    rows = [
        [name, *_cells(name, _loss(content, name), points)]
        for name, points in content["about"]["points"].items()
    ]
    return as_table([HEADS, *rows])


def _cells(name: str, loss: float, points: dict[str, Any]) -> list[str]:
    """Format loss, k, misfit and accuracy; a crop's loss is fixed."""
    k, end = points["common_k"], f"{100 * points['accuracy'][-1]:.1f}"
    shown_loss = f"{loss:.2f}" if name == "crop" else _spread(loss, points["loss_error"])
    return [shown_loss, _spread(k, points["k_error"]), f"{_misfit(loss, points):.2f}", end]


def _loss(content: dict[str, Any], name: str) -> float:
    """Return the power curve's loss; where the curve is a table, it stands with the points."""
    curve = content["operations"][name]
    return float(curve["loss"] if "loss" in curve else content["about"]["points"][name]["loss"])


def _spread(value: float, error: float | None) -> str:
    """Format value ± standard error; a value at a bound of its range has none."""
    return f"{value:.2f} (bound)" if not error else f"{value:.2f} ± {error:.2f}"


def _misfit(loss: float, points: dict[str, Any]) -> float:
    """Return the root mean square distance of the points from the power curve."""
    pairs = zip(points["x"], points["retained"], strict=True)
    missed = [kept - (1 - loss * x ** points["common_k"]) for x, kept in pairs]
    return math.sqrt(sum(miss**2 for miss in missed) / len(missed))


def main() -> None:
    """Write both tables."""
    for path, page, marker in (
        (Path(sys.argv[1]), PAGE, "curves"),
        (WITHOUT, README, "curves-without"),
    ):
        put_between_markers(make_table(json.loads(path.read_text())), page, marker)


if __name__ == "__main__":
    main()
