"""What a report is made of: pages of sections, tables, figures and images with answers.

Everything here is plain data. `html`, `markdown`, `latex` and `terminal` render it; `evaluation`
and `paper` build it from result files.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as MplFigure

NONE = "–"
NARROW = 260  # points: on a phone of 360 px a letter of 9.5 points is 12 px high
Colors = Callable[[int], str]


@dataclass(frozen=True)
class Cell:
    """A text, the number it is sorted by, and its parts as CSV has them (default: the text)."""

    text: str
    value: float | None = None
    csv: tuple[str, ...] = ()
    best: bool = False
    note: str = ""
    """letter of the table's note that explains it"""
    source: str = ""
    """whose number it is, where it is quoted"""

    @property
    def parts(self) -> list[str]:
        """The fields of the cell in CSV."""
        return list(self.csv or (self.text,))

    @property
    def is_text(self) -> bool:
        """Whether it holds words rather than a number."""
        return self.value is None and self.text != NONE


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Column:
    """A heading; `csv` names its parts in CSV, columns `under` the same heading are a pair."""

    head: str
    csv: tuple[str, ...] = ()
    under: str = ""
    ours: bool = False
    """whether it stands out as ours among the paper's"""

    @property
    def parts(self) -> list[str]:
        """The headings in CSV."""
        return list(self.csv or (self.title,))

    @property
    def title(self) -> str:
        """The heading on one line.

        >>> Column("ours", under="Gain over baseline").title
        'Gain, ours'
        """
        return f"{self.under.partition(' ')[0]}, {self.head}" if self.under else self.head


@dataclass(frozen=True)
class RowGroup:
    """Rows under a heading of their own; without one they are just rows."""

    heading: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """Groups of rows; the first cell of a row is its heading. `name` is unique on the page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[RowGroup, ...]
    caption: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """letter and sentence"""

    @property
    def rows(self) -> list[Row]:
        """All rows, whatever their group."""
        return [row for group in self.groups for row in group.rows]

    def is_text(self, column: int) -> bool:
        """Whether a column holds words and no number."""
        cells = [row[column] for row in self.rows]
        return any(cell.is_text for cell in cells) and all(cell.value is None for cell in cells)


def make_table(
    name: str,
    title: str,
    heads: Sequence[str | Column],
    rows: Sequence[Sequence[Cell]],
    caption: str,
) -> Table:
    """Make a table of one group."""
    columns = tuple(Column(head) if isinstance(head, str) else head for head in heads)
    return Table(name, title, columns, (RowGroup("", tuple(map(tuple, rows))),), caption)


def make_cell(text: str, *numbers: float | None, best: bool = False) -> Cell:
    """Make a cell that is sorted by the first of its numbers; CSV has each of them in full."""
    csv = tuple("" if number is None else repr(number) for number in numbers)
    return Cell(text, numbers[0], csv, best)


def number_cell(value: float | None, digits: int = 2) -> Cell:
    """Make a cell of a rounded number, with a true minus sign."""
    if value is None:
        return Cell(NONE)
    return make_cell(f"{value:.{digits}f}".replace("-", "−"), value)


def count_cell(value: int) -> Cell:
    """Make a cell of a count."""
    return make_cell(f"{value:,}", value)


@dataclass(frozen=True)
class Figure:
    """A drawing with its words; `draw` puts it on a matplotlib figure in given colors.

    `height` and `width` are in points; a figure with `wide` is drawn at that width as well, for
    screens that have room for it. `name` is that of its files. The numbers are in `table`.
    """

    name: str
    alt: str
    caption: str
    draw: Callable[[MplFigure, Colors], None]
    height: float
    width: float = NARROW
    wide: float = 0
    table: Table | None = None
    summary: str = "Numbers and files"


@dataclass(frozen=True)
class Answer:
    """What one arm says of an image: its first answer, and the others as a text."""

    arm: str
    correct: bool
    name: str
    confidence: float
    others: str


@dataclass(frozen=True)
class Card:
    """An image (base64 PNG) with its class and the answer of each arm."""

    png: str
    width: int
    height: int
    label: str
    note: str
    answers: tuple[Answer, ...]

    @property
    def differ(self) -> bool:
        """Whether the arms give different answers."""
        return len({answer.name for answer in self.answers}) > 1


@dataclass(frozen=True)
class Paragraph:
    """A piece of text."""

    text: str


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is."""

    text: str


@dataclass(frozen=True)
class Figures:
    """Figures beside each other as far as there is room."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Cards:
    """A row of images with answers."""

    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Section:
    """A part of the page that folds; the terminal and Markdown show those that are `printed`."""

    title: str
    blocks: tuple["Block", ...]
    is_open: bool = False
    printed: bool = False

    @property
    def name(self) -> str:
        """The name of the section in links."""
        return slug(self.title)


Block = Paragraph | Code | Table | Figures | Cards | Section


@dataclass(frozen=True)
class Page:
    """A report: a picture, what it shows in sentences, then sections that fold."""

    title: str
    lead: str
    figures: tuple[Figure, ...]
    """the first thing seen"""
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    sections: tuple[Section, ...]
    footer: str
    files_only: tuple[Figure, ...] = ()
    """figures that are written as files; the page shows the same in another way"""

    def tables(self) -> Iterator[Table]:
        """The tables of printed sections."""
        for section in self.sections:
            if section.printed:
                yield from (block for block in section.blocks if isinstance(block, Table))

    def all_figures(self) -> list[Figure]:
        """Every figure, for writing files."""
        inside = (figure for section in self.sections for figure in _figures(section))
        return [*self.figures, *inside, *self.files_only]


def _figures(section: Section) -> Iterator[Figure]:
    for block in section.blocks:
        if isinstance(block, Figures):
            yield from block.figures
        elif isinstance(block, Section):
            yield from _figures(block)


def plural(num: int, unit: str) -> str:
    """Write a count with its unit.

    >>> plural(1, "seed"), plural(1000, "image")
    ('1 seed', '1,000 images')
    """
    return f"{num:,} {unit}{'' if num == 1 else 's'}"


def format_list(parts: Sequence[str]) -> str:
    """Join words as a list in a sentence.

    >>> format_list(["error", "NLL", "ECE"])
    'error, NLL and ECE'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def sentence(text: str) -> str:
    """Give a text a capital letter and a full stop.

    >>> sentence("single runs in the paper")
    'Single runs in the paper.'
    """
    return capitalize(text) + ("" if text.endswith((".", "!", "?")) else ".")


def capitalize(text: str) -> str:
    """Make the first letter a capital and leave the others."""
    return text[:1].upper() + text[1:]


def one_line(text: str) -> str:
    """Remove what a picture or XML cannot hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def slug(text: str) -> str:
    """Make part of a file name.

    >>> slug("../Soft crop, k = 2")
    'soft-crop-k-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "arm"
