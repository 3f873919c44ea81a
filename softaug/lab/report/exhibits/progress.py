"""How far an exhibit has come, in words for tables and figures alike."""

from pathlib import Path
from typing import cast

from softaug.lab.report.exhibits.numbers import diverged_in_paper, ended_of_planned, num_diverged
from softaug.lab.report.exhibits.reading import SHAPES
from softaug.lab.report.exhibits.shapes import Cell, Examples, Exhibit


def unfinished(exhibit: Exhibit, folder: Path) -> str:
    """Such as "partial: 3 of 12 runs"; "" where all that there is at this scale is there.

    `folder` holds the exhibit's file.
    """
    if exhibit["complete"]:
        return ""
    examples = SHAPES.get(exhibit["name"]) is Examples
    done, planned = shown_runs(cast(Examples, exhibit), folder) if examples else row_runs(exhibit)
    told = f"{done} of {planned} runs" if planned else "no run has finished yet"
    lacking = sum(c["state"] == "no data" for row in exhibit["rows"] for c in row["cells"])
    lost = lost_runs(exhibit)
    told += f"; diverged: {lost}" if lost else ""
    return f"partial: {told}" + (f"; numbers without data: {lacking}" if lacking else "")


def evaluations(exhibit: Examples, folder: Path) -> dict[str, Path]:
    """The evaluations of the arms that have one, by label."""
    names = [Path(run).name for run in exhibit["runs"]]
    pairs = zip(exhibit.get("labels", names), exhibit["runs"], strict=True)
    files = {label: folder / run / "evaluation.json" for label, run in pairs}
    return {label: file for label, file in files.items() if file.is_file()}


def shown_runs(exhibit: Examples, folder: Path) -> tuple[int, int]:
    """How many of the arms can be shown, and how many there are."""
    return len(evaluations(exhibit, folder)), len(exhibit["runs"])


def row_runs(exhibit: Exhibit) -> tuple[int, int]:
    """How many runs have a result and how many are planned; a recipe in several rows counts once.

    To diverge is a result where the paper's run did. Rows without any run are taken to plan as
    many seeds as the others; (0, 0) where nothing tells.
    """
    cells = _cells(exhibit)
    told = [ended_of_planned(cell) for _, cell in cells]
    seeds = max((counts[1] for counts in told if counts), default=0)
    runs: dict[str, tuple[int, int]] = {}
    for recipe, cell in cells:
        ended, planned = ended_of_planned(cell) or (0, seeds)
        if planned and (ended or cell["state"] in ("waiting", "no data")):
            counts = (ended - _lost(cell), planned)
            runs[recipe] = max(runs.get(recipe, (0, 0)), counts)
    return sum(n for n, _ in runs.values()), sum(planned for _, planned in runs.values())


def lost_runs(exhibit: Exhibit) -> int:
    """How many runs diverged where the paper's did not."""
    lost: dict[str, int] = {}
    for recipe, cell in _cells(exhibit):
        lost[recipe] = max(lost.get(recipe, 0), _lost(cell))
    return sum(lost.values())


def _cells(exhibit: Exhibit) -> list[tuple[str, Cell]]:
    """Every cell that is run, with its recipe."""
    rows = exhibit["rows"]
    return [(row["recipe"], cell) for row in rows if row["recipe"] for cell in row["cells"]]


def _lost(cell: Cell) -> int:
    return 0 if diverged_in_paper(cell) else num_diverged(cell)
