"""The command `softaug evaluate`."""

from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from softaug.checks import refuse
from softaug.evaluation.evaluate import EVALUATION, EvaluationOptions, evaluate_runs


def evaluate(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    options: Annotated[EvaluationOptions, tyro.conf.arg(name="")],
    ensemble: bool = False,
    out: Path | None = None,
) -> None:
    """Measure trained runs: error, calibration, occlusion, shift, noise, classes.

    Args:
        runs: Folders that `softaug train` made.
        options: What is measured, and where.
        ensemble: Measure the mean of the runs' probabilities, not each run.
        out: Folder for an ensemble's result (default: ensemble-NAME beside the first run).
    """
    console = Console()
    if not runs:
        refuse("evaluate", "at least one run must be given", "none", "name a run's folder")
    if out is not None and not ensemble:
        refuse("evaluate", "out is for --ensemble; a run keeps its own evaluation", out)
    if ensemble:
        _one(runs, out or runs[0].parent / f"ensemble-{runs[0].name}", options, console)
    else:
        for run in runs:
            _one((run,), run, options, console)


def _one(runs: tuple[Path, ...], out: Path, options: EvaluationOptions, console: Console) -> None:
    found = evaluate_runs(runs, out, options, console)
    console.print(_table(found))
    console.print(f"{out / EVALUATION}", soft_wrap=True, highlight=False)


def _table(found: dict[str, Any]) -> Table:
    table = Table(title=found["name"], title_justify="left")
    for head in ("measure", *found["sets"]):
        table.add_column(head, justify="left" if head == "measure" else "right")
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
