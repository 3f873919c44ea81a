"""An exhibit's rows as every format shows them: words and rounded numbers under headings."""

import re
from dataclasses import dataclass

from softaug.lab.report.evaluation.tables import NONE
from softaug.lab.report.exhibits.numbers import (
    baseline_cell,
    difference,
    ended_of_planned,
    measure_words,
    num_diverged,
    our_gain,
    paper_gain,
    plain,
    published,
    signed,
    with_error,
)
from softaug.lab.report.exhibits.shapes import Cell, Exhibit, Row
from softaug.lab.report.headline import capital

QUOTED = "quoted, not run"
_OF_PAPER = re.compile(r"(table|figure)\d+")
_GAINS = "Gain over baseline"


@dataclass(frozen=True)
class Column:
    """A field of `Line` and its heading; columns `under` the same one are a pair."""

    field: str
    head: str
    under: str = ""

    @property
    def title(self) -> str:
        """The heading where there is one line for it.

        >>> Column("our_gain", "ours", "Gain over baseline").title
        'Gain, ours'
        """
        return f"{self.under.partition(' ')[0]}, {self.head}" if self.under else self.head


BESIDE_PAPER = (
    Column("paper", "Paper’s"),
    Column("ours", "Ours"),
    Column("runs", "Runs"),
    Column("difference", "Ours − paper’s"),
    Column("paper_gain", "paper’s", _GAINS),
    Column("our_gain", "ours", _GAINS),
)
OURS_ALONE = (Column("ours", "Ours"), Column("runs", "Runs"), Column("our_gain", _GAINS))


@dataclass(frozen=True)
class Line:
    """One number of one row; `mark` is the letter of the note that explains it."""

    label: str
    quoted: str
    paper: str
    ours: str
    runs: str
    difference: str
    paper_gain: str
    our_gain: str
    mark: str


@dataclass(frozen=True)
class Section:
    """Lines that measure the same on the same data."""

    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Sheet:
    """All sections, what must be known before reading them, the lettered notes, and remarks."""

    columns: tuple[Column, ...]
    """those after the label"""
    sections: tuple[Section, ...]
    cautions: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]

    @property
    def has_paper(self) -> bool:
        """Whether numbers of the paper stand beside ours."""
        return self.columns == BESIDE_PAPER

    @property
    def heads(self) -> tuple[str, ...]:
        """Headings on one line, that of the labels first."""
        return ("Row", *(column.title for column in self.columns))

    def stands_out(self, column: Column) -> bool:
        """Whether a column is ours among the paper's."""
        return self.has_paper and column.field in ("ours", "our_gain")

    def cells(self, line: Line) -> list[tuple[str, str]]:
        """What a line has in each column, and the letter of its note, which stands with ours."""
        return [
            (getattr(line, column.field), line.mark if column.field == "ours" else "")
            for column in self.columns
        ]


def sheet(exhibit: Exhibit, mark: str) -> Sheet:
    """The rows of an exhibit, a section for each group and measure in the file's order.

    `mark` says how much of it is missing, see `unfinished`.
    """
    rows = exhibit["rows"]
    reasons = [cell["why"] for row in rows for cell in row["cells"] if cell["why"]]
    marks = {why: _letter(place) for place, why in enumerate(dict.fromkeys(reasons))}
    found: dict[str, list[Line]] = {}
    for group in dict.fromkeys(row["group"] for row in rows):
        for row in (row for row in rows if row["group"] == group):
            for cell in row["cells"]:
                line = _line(row, cell, rows, marks.get(cell["why"], ""))
                found.setdefault(_heading(group, cell), []).append(line)
    sections = tuple(Section(heading, tuple(lines)) for heading, lines in found.items())
    notes = tuple((mark, _sentence(why)) for why, mark in marks.items())
    cautions, remarks = tuple(_cautions(exhibit, mark)), tuple(_remarks(exhibit))
    return Sheet(_columns(rows), sections, cautions, notes, remarks)


def _columns(rows: list[Row]) -> tuple[Column, ...]:
    """None for the paper where it has no number: in studies of ours, and in Figure 3."""
    found = any(cell["paper"] is not None for row in rows for cell in row["cells"])
    return BESIDE_PAPER if found else OURS_ALONE


def _letter(place: int) -> str:
    """a, b, ... z, aa, ab, ...

    >>> [_letter(place) for place in (0, 25, 26)]
    ['a', 'z', 'aa']
    """
    rest, last = divmod(place, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("a") + last)


def _heading(group: str, cell: Cell) -> str:
    """Data and measure; images that the group is called by are not named twice."""
    words = measure_words({**cell, "on": ""} if cell["on"] == group else cell)
    return f"{group}: {words}" if group else capital(words)


def _line(row: Row, cell: Cell, rows: list[Row], mark: str) -> Line:
    base = baseline_cell(row, cell, rows)
    gain = None if base is None else our_gain(cell, base)
    ended = ended_of_planned(cell)
    return Line(
        label=row["label"],
        quoted=_quoted(row),
        paper=published(cell["paper"]),
        ours=_ours(row, cell),
        runs=NONE if ended is None else f"{ended[0]} of {ended[1]}",
        difference=signed(difference(cell)),
        paper_gain=signed(None if base is None else paper_gain(cell, base)),
        our_gain=NONE if gain is None else with_error(signed(gain.mean), gain.se),
        mark=mark,
    )


def _quoted(row: Row) -> str:
    """That a row is quoted, and from whom, unless the label or the heading says it already."""
    source = row["quoted"]
    if source is None:
        return ""
    told = source in row["label"] or source in row["group"]
    return "quoted" if told else f"quoted: {source}"


def _ours(row: Row, cell: Cell) -> str:
    return QUOTED if row["quoted"] is not None else shown_ours(cell)


def shown_ours(cell: Cell) -> str:
    """Mean ± standard error, marked where runs diverged or are missing; before, the state."""
    ours, ended = cell["ours"], ended_of_planned(cell)
    if ended is None:
        return cell["state"]
    marks = ["partial"] if ended[0] < ended[1] else []
    if ours is None:
        shown = "diverged"
    else:
        shown = with_error(plain(ours["mean"]), ours["se"])
        marks += [f"{num_diverged(cell)} diverged"] if num_diverged(cell) else []
    return f"{shown} ({', '.join(marks)})" if marks else shown


def _cautions(exhibit: Exhibit, mark: str) -> list[str]:
    found = [_sentence(mark) if mark else "", like_for_like(exhibit)]
    return [caution for caution in found if caution]


def _remarks(exhibit: Exhibit) -> list[str]:
    found = []
    if exhibit["rows"]:
        both = _columns(exhibit["rows"]) == BESIDE_PAPER
        found.append(
            "Ours: mean ± standard error over seeds. Runs: ended of planned ones. Gain: "
            "points better than the baseline row, positive is better"
            f"{'; the paper’s from its printed means, ours' if both else ','} "
            "± standard error of differences paired by seed."
        )
    if any(num_diverged(cell) for row in exhibit["rows"] for cell in row["cells"]):
        found.append(
            "Diverged: training came to numbers that are not finite. Such runs count as ended, and "
            "are in no mean."
        )
    if any(row["quoted"] is not None for row in exhibit["rows"]):
        found.append(
            "Quoted rows: numbers of others that the paper quotes; nobody ran them here. They have "
            "no gain over the paper’s own baseline."
        )
    return [*found, *map(_sentence, exhibit["notes"])]


def _sentence(note: str) -> str:
    """A note with a large first letter and a full stop.

    >>> _sentence("single runs in the paper")
    'Single runs in the paper.'
    """
    return capital(note) + ("" if note.endswith((".", "!", "?")) else ".")


def is_of_paper(exhibit: Exhibit) -> bool:
    """Whether it is a table or figure of the paper, not a study of ours."""
    return _OF_PAPER.fullmatch(exhibit["name"]) is not None


def like_for_like(exhibit: Exhibit) -> str:
    """A warning at scales other than the paper's; "" at its own."""
    if exhibit["scale"] == "paper" or not exhibit["rows"]:
        return ""
    if not is_of_paper(exhibit):
        return "A study of ours: the paper has no numbers for it."
    return (
        f"Scale “{exhibit['scale']}”: smaller networks, data or budgets than the paper’s, so the "
        "difference to the paper is not like for like. Compare the gains."
    )
