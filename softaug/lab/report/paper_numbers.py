"""What is worked out from the cells of a collected table, and how its numbers are written."""

from collections.abc import Sequence

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report.model import NONE, format_number
from softaug.lab.schema import (
    CollectedCell,
    CollectedRow,
    CollectedTable,
    Estimate,
    PublishedNumber,
)

_MEASURES = {
    "ece": "calibration error (ECE)",
    "probe_error": "error of a linear probe",
    "best_error": "least error of the evaluations",
    "knn_error": "error of nearest neighbors",
}


def measure_words(measure: str, on: str) -> str:
    """Say what a cell measures.

    >>> measure_words("error", "ImageNet-V2")
    'error on ImageNet-V2, %'
    """
    words = _MEASURES.get(measure, measure.replace("_", " "))
    return f"{words}{' on ' + on if on else ''}, %"


def find_gains(
    row: CollectedRow, cell: CollectedCell, rows: Sequence[CollectedRow]
) -> tuple[float | None, Estimate | None]:
    """Return how much better than the baseline the paper's number is, and ours, in points.

    The baseline is the row of that label in the same group, else in any.
    """
    named = [other for other in rows if other.label == row.baseline and other is not row]
    named.sort(key=lambda other: other.group != row.group)
    key = (cell.measure, cell.on)
    bases = (base for other in named for base in other.cells if (base.measure, base.on) == key)
    base = next(bases, None)
    return (None, None) if base is None else (_paper_gain(cell, base), our_gain(cell, base))


def _paper_gain(cell: CollectedCell, base: CollectedCell) -> float | None:
    """Return none where one number is quoted from others: they trained in other ways."""
    mine, other = cell.paper, base.paper
    if mine is None or other is None or mine.source != other.source:
        return None
    if mine.value is None or other.value is None:
        return None
    return _direction(cell) * (mine.value - other.value)


def our_gain(cell: CollectedCell, base: CollectedCell) -> Estimate | None:
    """Return our gain; with all planned runs on both sides, seeds are paired."""
    ours, theirs = cell.ours, base.ours
    if ours is None or theirs is None:
        return None
    if ours.n == ours.planned == theirs.n == theirs.planned:
        pairs = zip(ours.values, theirs.values, strict=True)
        return estimate([_direction(cell) * (mine - other) for mine, other in pairs])
    return Estimate(_direction(cell) * (ours.mean - theirs.mean), None, min(ours.n, theirs.n))


def _direction(cell: CollectedCell) -> int:
    """1 where higher is better, -1 where lower is."""
    return 1 if cell.measure.endswith("accuracy") else -1


def count_diverged(cell: CollectedCell) -> int:
    """Count our runs whose training diverged."""
    return 0 if cell.diverged is None else len(cell.diverged.seeds)


def count_ended(cell: CollectedCell) -> tuple[int, int] | None:
    """Count runs that finished or diverged, and planned ones; None before the first."""
    found = cell.ours or cell.diverged
    if found is None:
        return None
    return (cell.ours.n if cell.ours else 0) + count_diverged(cell), found.planned


def format_signed(value: float) -> str:
    """Write a difference with its sign.

    >>> format_signed(2.49), format_signed(-0.5), format_signed(0.001)
    ('+2.49', '−0.50', '0.00')
    """
    shown = format_number(value)
    return f"+{shown}" if value > 0 and shown != "0.00" else shown


def format_published(paper: PublishedNumber | None) -> str:
    """Write the paper's number as it prints it.

    >>> format_published(PublishedNumber(value=22.62, se=0.0))
    '22.62 ± <0.01'
    >>> format_published(PublishedNumber(value=None, se=None))
    'diverged'
    """
    if paper is None:
        return NONE
    if paper.value is None:
        return "diverged"
    shown = format_number(paper.value)
    return f"{shown} ± <0.01" if paper.se == 0 else with_error(shown, paper.se)


def with_error(value: str, se: float | None) -> str:
    """Write a number and its standard error, where there is one.

    >>> with_error("+2.49", 0.081)
    '+2.49 ± 0.08'
    """
    return value if se is None else f"{value} ± {format_number(se)}"


def format_ours(cell: CollectedCell) -> str:
    """Write mean ± standard error, marked where runs diverged or are missing; else the state."""
    ended, num_diverged = count_ended(cell), count_diverged(cell)
    if ended is None:
        return cell.state
    marks = ["partial"] if ended[0] < ended[1] else []
    shown = "diverged"
    if cell.ours is not None:
        shown = with_error(format_number(cell.ours.mean), cell.ours.se)
        marks += [f"{num_diverged} diverged"] if num_diverged else []
    return f"{shown} ({', '.join(marks)})" if marks else shown


def count_runs(table: CollectedTable) -> tuple[int, int]:
    """Count runs with a result and planned ones; a recipe in several rows counts once.

    To diverge is a result where the paper's run did. Rows without any run are taken to plan as
    many seeds as the others; (0, 0) where nothing tells.
    """
    cells = run_cells(table)
    known = [count_ended(cell) for _, cell in cells]
    seeds = max((counts[1] for counts in known if counts), default=0)
    runs: dict[str, tuple[int, int]] = {}
    for recipe, cell in cells:
        ended, planned = count_ended(cell) or (0, seeds)
        if planned and (ended or cell.state in ("waiting", "no data")):
            counts = (ended - count_lost(cell), planned)
            runs[recipe] = max(runs.get(recipe, (0, 0)), counts)
    return sum(n for n, _ in runs.values()), sum(planned for _, planned in runs.values())


def run_cells(table: CollectedTable) -> list[tuple[str, CollectedCell]]:
    """List every cell that is run, with its recipe."""
    return [(row.recipe, cell) for row in table.rows if row.recipe for cell in row.cells]


def count_lost(cell: CollectedCell) -> int:
    """Count runs that diverged where the paper's did not."""
    in_paper = cell.paper is not None and cell.paper.value is None
    return 0 if in_paper else count_diverged(cell)
