"""Put the table of fitted curves into docs/curves.md.

    python docs/curves_table.py softaug/transforms/curves_data/cifar100.json

The second table, of the network trained without the operations, is made again from its JSON.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

from collect_runs import put_between_markers

PAGE = Path(__file__).parent / "curves.md"
WITHOUT = Path(__file__).parent / "results" / "curves-cifar100-hard.json"
HEADS = ["operation", "loss", "k", "misfit", "accuracy at full strength, %"]


def table(content: dict[str, Any]) -> str:
    """A row for each operation: its power curve, with standard errors over images."""
    lines = [HEADS, ["---", *["---:"] * (len(HEADS) - 1)]]
    for name, points in content["about"]["points"].items():
        lines.append([name, *cells(name, loss_of(content, name), points)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(name: str, loss: float, points: dict[str, Any]) -> list[str]:
    """Loss, k, misfit and accuracy; a crop's loss is fixed."""
    k, end = points["common_k"], f"{100 * points['accuracy'][-1]:.1f}"
    shown_loss = f"{loss:.2f}" if name == "crop" else spread(loss, points["loss_error"])
    return [shown_loss, spread(k, points["k_error"]), f"{misfit(loss, points):.2f}", end]


def loss_of(content: dict[str, Any], name: str) -> float:
    """Beside a table the points tell it; files made before there were tables do not."""
    curve = content["operations"][name]
    return float(curve["loss"] if "loss" in curve else content["about"]["points"][name]["loss"])


def spread(value: float, error: float | None) -> str:
    """Value ± standard error; a bound of its range has none."""
    return f"{value:.2f} (bound)" if not error else f"{value:.2f} ± {error:.2f}"


def misfit(loss: float, points: dict[str, Any]) -> float:
    """Root mean square of what the power curve misses the points by, also beside a table."""
    pairs = zip(points["x"], points["retained"], strict=True)
    missed = [kept - (1 - loss * x ** points["common_k"]) for x, kept in pairs]
    return math.sqrt(sum(miss**2 for miss in missed) / len(missed))


def main() -> None:
    """Write both tables."""
    for path, marker in ((Path(sys.argv[1]), "curves"), (WITHOUT, "curves-without")):
        put_between_markers(table(json.loads(path.read_text())), PAGE, marker)


if __name__ == "__main__":
    main()
