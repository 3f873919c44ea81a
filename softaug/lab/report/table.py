"""The table of a comparison, the same in the terminal and on the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.lab.report.headline import headline
from softaug.lab.report.results import Arm, check_results, read_results
from softaug.lab.report.summary import Metric, Summary, by_seed, metrics_of, summarise


@dataclass(frozen=True)
class Cell:
    """A mean and its standard error as shown; `best` marks the best mean of the row."""

    mean: str
    se: str
    best: bool


@dataclass(frozen=True)
class Row:
    """One metric across the arms."""

    name: str
    higher_is_better: bool
    cells: tuple[Cell, ...]


def table_rows(summary: Summary) -> list[Row]:
    """A row for each metric, a cell for each arm."""
    return [_row(summary, metric) for metric in summary.metrics]


def _row(summary: Summary, metric: Metric) -> Row:
    best, cells = summary.best(metric), []
    for arm in summary.arms:
        value = arm.estimates[metric.key]
        se = "" if value.se is None else metric.show(value.se)
        cells.append(Cell(metric.show(value.mean), se, arm.name in best))
    return Row(metric.label, metric.higher_is_better, tuple(cells))


@dataclass(frozen=True)
class RunRow:
    """One run's metrics as shown."""

    arm: str
    seed: int
    shown: tuple[str, ...]
    seconds: float


def run_rows(arms: Sequence[Arm]) -> list[RunRow]:
    """A row for each run of each arm."""
    metrics = metrics_of(arms[0])
    return [
        RunRow(
            arm["name"],
            run["seed"],
            tuple(metric.show(by_seed(arm, metric)[run["seed"]]) for metric in metrics),
            run["seconds"],
        )
        for arm in arms
        for run in arm["runs"]
    ]


def num_seeds(summary: Summary) -> str:
    """The number of seeds of the arms: one number, or one for each arm where they differ.

    An arm has the same number of seeds in every metric.
    """
    counts = [next(iter(arm.estimates.values())).n for arm in summary.arms]
    return ", ".join(map(str, counts if len(set(counts)) > 1 else counts[:1]))


def print_table(results: Mapping[str, Any] | Path, console: Console) -> None:
    """Print the table of the report, and the verdicts under it, in at most 80 columns."""
    found = read_results(results) if isinstance(results, Path) else check_results(results)
    summary = summarise(found)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", no_wrap=True)
    for arm in summary.arms:
        table.add_column(Text(arm.name), justify="right")
    for row in table_rows(summary):
        arrow = "↑" if row.higher_is_better else "↓"
        table.add_row(f"{row.name} {arrow}", *map(_terminal_cell, row.cells))
    console.print(table)
    console.print(
        f"Mean ± standard error over n = {num_seeds(summary)} seeds; accuracy in %; * best mean."
    )
    for finding in headline(found).findings:
        console.print(Text(finding.sentence))


def _terminal_cell(cell: Cell) -> Text:
    spread = f" ± {cell.se}" if cell.se else ""
    return Text(f"{cell.mean}{spread}{' *' if cell.best else '  '}", "bold" if cell.best else "")
