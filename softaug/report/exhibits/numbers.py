"""What is worked out from an exhibit's cells, and how numbers are written."""

from softaug.metrics import Estimate, estimate
from softaug.report.evaluation.tables import NONE
from softaug.report.exhibits.shapes import Cell, Measured, Published, Row

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
    mean, start = cell["paper"], base["paper"]
    if mean is None or start is None or mean.get("source", "") != start.get("source", ""):
        return None
    return _better(cell) * (mean["value"] - start["value"])


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
    if cell["ours"] is None or cell["paper"] is None:
        return None
    return cell["ours"]["mean"] - cell["paper"]["value"]


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
    """
    if paper is None:
        return NONE
    se = paper["se"]
    return plain(paper["value"]) + ("" if se is None else f" ± {plain(se) if se else '<0.01'}")


def with_error(value: str, se: float | None) -> str:
    """A number and its standard error, where there is one.

    >>> with_error("+2.49", 0.081)
    '+2.49 ± 0.08'
    """
    return value if se is None else f"{value} ± {plain(se)}"
