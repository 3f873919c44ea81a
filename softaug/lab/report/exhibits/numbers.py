"""What is worked out from an exhibit's cells, and how numbers are written."""

from softaug.lab.evaluation.stats import Estimate, estimate
from softaug.lab.report.evaluation.tables import NONE
from softaug.lab.report.exhibits.shapes import Cell, Measured, Published, Row

_WORDS = {
    "ece": "calibration error (ECE)",
    "probe_error": "error of a linear probe",
    "knn_error": "error of nearest neighbours",
}


def measure_words(cell: Cell) -> str:
    """What a cell measures.

    >>> cell = {"measure": "error", "on": "ImageNet-V2", "paper": None, "ours": None}
    >>> measure_words({**cell, "state": "waiting", "why": ""})
    'error on ImageNet-V2, %'
    """
    words = _WORDS.get(cell["measure"], cell["measure"].replace("_", " "))
    return f"{words}{' on ' + cell['on'] if cell['on'] else ''}, %"


def same_measure(cell: Cell, row: Row) -> Cell | None:
    """The cell of `row` that measures the same as `cell`."""
    key = (cell["measure"], cell["on"])
    return next((c for c in row["cells"] if (c["measure"], c["on"]) == key), None)


def baseline_cell(row: Row, cell: Cell, rows: list[Row]) -> Cell | None:
    """The cell that the gain of `cell` counts from: in the row's own group, else in any."""
    named = [other for other in rows if other["label"] == row["baseline"] and other is not row]
    named.sort(key=lambda other: other["group"] != row["group"])
    found = (same_measure(cell, other) for other in named)
    return next((base for base in found if base is not None), None)


def paper_gain(cell: Cell, base: Cell) -> float | None:
    """How much better the paper's mean is than that of its baseline, in points.

    None where one of them is quoted from others: they trained in other ways.
    """
    mean, start = _value(cell["paper"]), _value(base["paper"])
    if mean is None or start is None or _source(cell["paper"]) != _source(base["paper"]):
        return None
    return _better(cell) * (mean - start)


def _value(paper: Published | None) -> float | None:
    return None if paper is None else paper["value"]


def _source(paper: Published | None) -> str:
    return "" if paper is None else paper.get("source", "")


def our_gain(cell: Cell, base: Cell) -> Estimate | None:
    """How much better our mean is than that of our baseline, in points.

    With all planned runs on both sides, seeds are paired and the gain has a standard error.
    """
    ours, theirs = cell["ours"], base["ours"]
    if ours is None or theirs is None:
        return None
    if _all_done(ours) and _all_done(theirs) and ours["n"] == theirs["n"]:
        pairs = zip(ours["values"], theirs["values"], strict=True)
        return estimate([_better(cell) * (mine - other) for mine, other in pairs])
    mean = _better(cell) * (ours["mean"] - theirs["mean"])
    return Estimate(mean, None, min(ours["n"], theirs["n"]))


def _all_done(ours: Measured) -> bool:
    return ours["n"] == ours["planned"]


def _better(cell: Cell) -> int:
    """1 where higher is better, -1 where lower is."""
    return 1 if cell["measure"].endswith("accuracy") else -1


def difference(cell: Cell) -> float | None:
    """Ours minus the paper's, in points."""
    theirs = _value(cell["paper"])
    return None if cell["ours"] is None or theirs is None else cell["ours"]["mean"] - theirs


def num_diverged(cell: Cell) -> int:
    """Our runs whose training diverged."""
    found = cell.get("diverged")
    return len(found["seeds"]) if found else 0


def diverged_in_paper(cell: Cell) -> bool:
    """Whether the paper has word of a divergence in place of a number."""
    return cell["paper"] is not None and cell["paper"]["value"] is None


def ended_of_planned(cell: Cell) -> tuple[int, int] | None:
    """How many runs finished or diverged, and how many are planned; None before the first."""
    found = cell["ours"] or cell.get("diverged")
    if not found:
        return None
    return (cell["ours"]["n"] if cell["ours"] else 0) + num_diverged(cell), found["planned"]


def plain(value: float) -> str:
    """A number as the paper rounds it, with a true minus sign.

    >>> plain(20.8), plain(-0.001)
    ('20.80', '0.00')
    """
    shown = f"{value:.2f}"
    return (shown.removeprefix("-") if float(shown) == 0 else shown).replace("-", "−")


def signed(value: float | None) -> str:
    """A difference with its sign; a dash where there is none.

    >>> signed(2.49), signed(-0.5), signed(0.001), signed(None)
    ('+2.49', '−0.50', '0.00', '–')
    """
    if value is None:
        return NONE
    shown = plain(value)
    return f"+{shown}" if value > 0 and shown != "0.00" else shown


def published(paper: Published | None) -> str:
    """The paper's number as it prints it.

    >>> published({"value": 22.62, "se": 0.0}), published({"value": 25.6, "se": None})
    ('22.62 ± <0.01', '25.60')
    >>> published({"value": None, "se": None})
    'diverged'
    """
    if paper is None:
        return NONE
    if paper["value"] is None:
        return "diverged"
    se = paper["se"]
    return plain(paper["value"]) + ("" if se is None else f" ± {plain(se) if se else '<0.01'}")


def with_error(value: str, se: float | None) -> str:
    """A number and its standard error, where there is one.

    >>> with_error("+2.49", 0.081)
    '+2.49 ± 0.08'
    """
    return value if se is None else f"{value} ± {plain(se)}"
