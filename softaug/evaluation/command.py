"""The command `softaug evaluate`, without its report."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.checks import refuse
from softaug.evaluation.evaluate import EvaluationOptions, evaluate_runs


def evaluate_each(
    runs: Sequence[Path],
    options: EvaluationOptions,
    ensemble: bool,
    out: Path | None,
    console: Console,
) -> Iterator[Path]:
    """Evaluate runs, each or as one ensemble, print a table and yield the result's folder."""
    if not runs:
        refuse("evaluate", "at least one run must be given", "none", "name a run's folder")
    if out is not None and not ensemble:
        refuse("evaluate", "out is for --ensemble; a run keeps its own evaluation", out)
    groups = [tuple(runs)] if ensemble else [(run,) for run in runs]
    for group in groups:
        folder = _ensemble_folder(group[0], out) if ensemble else group[0]
        console.print(_table(evaluate_runs(group, folder, options, console)))
        yield folder


def _ensemble_folder(first: Path, out: Path | None) -> Path:
    return out or first.parent / f"ensemble-{first.name}"


def _table(found: dict[str, Any]) -> Table:
    table = Table(title=Text(found["name"]), title_justify="left")
    for head in ("measure", *found["sets"]):
        table.add_column(Text(head), justify="left" if head == "measure" else "right")
    for label, path, scale, digits in ROWS:
        cells = [_cell(measured, path, scale, digits) for measured in found["sets"].values()]
        table.add_row(label, *cells)
    for name, result in found["robustness"].items():
        for level, accuracy in zip(result["levels"][1:], result["accuracy"][1:], strict=True):
            blank = [""] * (len(found["sets"]) - 1)
            table.add_row(f"accuracy, {name} {level:g}, %", f"{100 * accuracy:.1f}", *blank)
    return table


ROWS = (
    ("error, %", "error", 100, 2),
    ("top-5 error, %", "top5_error", 100, 2),
    ("NLL", "before.nll", 1, 4),
    ("Brier", "before.brier", 1, 4),
    ("ECE (10 bins), %", "before.ece_10", 100, 2),
    ("ECE (15 bins), %", "before.ece_15", 100, 2),
    ("ECE (15 equal masses), %", "before.ece_15_mass", 100, 2),
    ("confidence - accuracy, points", "before.gap", 100, 2),
    ("NLL, temperature scaled", "after.nll", 1, 4),
    ("ECE (15 bins), temperature scaled, %", "after.ece_15", 100, 2),
)


def _cell(measured: dict[str, Any], path: str, scale: float, digits: int) -> str:
    value: Any = measured
    for part in path.split("."):
        value = value[part]
    return f"{scale * value:.{digits}f}"
