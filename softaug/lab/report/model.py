"""What a report is made of: pages of sections, tables and figures.

Everything here is plain data. `render`, `text` and `latex` render it; `evaluation` and `paper`
build it from result files.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as MplFigure

NONE = "–"
NARROW = 260  # points: on a phone of 360 px a letter of 9.5 points is 12 px high
WIDE = 720  # points: scrolls on a phone; in the text of a paper a letter is 6.5 points high
Colors = Callable[[int], str]


@dataclass(frozen=True)
class Cell:
    """A text, whether it is the best of its row, and what explains it."""

    text: str
    best: bool = False
    note: str = ""
    """letter of the table's note that explains it"""
    source: str = ""
    """whose number it is, where it is quoted"""


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Column:
    """A heading, and how its column looks."""

    title: str
    ours: bool = False
    """whether it stands out as ours among the paper's"""
    words: bool = False
    """whether it holds words rather than numbers"""


@dataclass(frozen=True)
class Table:
    """Rows by heading ("" for none); a row starts with its label. `name` is unique on the page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    groups: Mapping[str, Sequence[Row]]
    caption: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """letter and sentence"""

    @property
    def rows(self) -> list[Row]:
        """All rows, whatever their group."""
        return [row for rows in self.groups.values() for row in rows]


def make_table(
    name: str,
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str = "",
    words: Sequence[str] = (),
) -> Table:
    """Make a table of one group; `words` are the headings of columns without numbers."""
    columns = tuple(Column(head, words=head in words) for head in heads)
    return Table(name, title, columns, {"": [tuple(row) for row in rows]}, caption)


def number_cell(value: float | None, digits: int = 2) -> Cell:
    """Make a cell of a rounded number."""
    return Cell(NONE if value is None else format_number(value, digits))


def format_number(value: float, digits: int = 2) -> str:
    """Round a number, with a true minus sign.

    >>> format_number(20.8), format_number(-0.5, 1), format_number(-0.001)
    ('20.80', '−0.5', '0.00')
    """
    shown = f"{value:.{digits}f}"
    return (shown.removeprefix("-") if float(shown) == 0 else shown).replace("-", "−")


@dataclass(frozen=True)
class Figure:
    """A drawing with its words; `draw` puts it on a matplotlib figure in given colors.

    `height` and `width` are in points. `name` is that of its files.
    """

    name: str
    alt: str
    caption: str
    draw: Callable[[MplFigure, Colors], None]
    height: float
    width: float = NARROW


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is."""

    text: str


@dataclass(frozen=True)
class Section:
    """A part of the page that folds; the terminal and Markdown show those that are `printed`."""

    title: str
    blocks: tuple["Block", ...]
    is_open: bool = False
    printed: bool = False


Block = str | Code | Table | tuple[Figure, ...] | Section
"""a paragraph, code, a table, figures beside each other, or a section within"""


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

    def tables(self) -> Iterator[Table]:
        """The tables of printed sections."""
        for section in self.sections:
            if section.printed:
                yield from (block for block in section.blocks if isinstance(block, Table))

    def all_figures(self) -> list[Figure]:
        """Every figure, for writing files."""
        return [*self.figures, *(one for section in self.sections for one in _figures(section))]


def _figures(section: Section) -> Iterator[Figure]:
    for block in section.blocks:
        if isinstance(block, tuple):
            yield from block
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
