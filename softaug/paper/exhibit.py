"""What a table or a figure of the paper, or a study of ours, is made of."""

from dataclasses import dataclass
from typing import Literal

Measure = Literal["error", "ece", "probe_error"]


@dataclass(frozen=True)
class Cell:
    """One number of a row, in %."""

    measure: Measure
    on: str = ""
    """the images it is of, where they are not the recipe's test images as they are"""
    value: float | None = None
    """the paper's; None where it has none"""
    se: float | None = None
    """its standard error in the paper"""
    diverged: bool = False
    """whether the paper says that training diverged, in place of a value"""
    source: str = ""
    """whose number it is, where the paper quotes it"""
    why: str = ""
    """what is to be known of it"""


@dataclass(frozen=True)
class Row:
    """A line of a table: a recipe to be run, or what the paper quotes from others."""

    group: str
    label: str
    """unique in its group"""
    cells: tuple[Cell, ...]
    recipe: str | None = None
    """its name in the catalogue; None where a number is only quoted"""
    baseline: str | None = None
    """label of the row in the same group that gains are counted from"""
    quoted: str | None = None
    """whose number it is, where the paper did not measure it"""


@dataclass(frozen=True)
class Line:
    """A line of a plot: at each x, the cell of a row."""

    label: str
    points: tuple[tuple[float, Row, Cell], ...]


@dataclass(frozen=True)
class Panel:
    """A plot."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Exhibit:
    """A table, a figure or a study."""

    name: str
    title: str
    rows: tuple[Row, ...] = ()
    panels: tuple[Panel, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """(label, recipe) of the networks whose answers a figure shows; the first seed's"""
    offsets: bool = False
    """whether it shows where the crops of its rows land"""
    notes: tuple[str, ...] = ()
    of_paper: bool = True
    """else it is a study of ours, whose recipes are of the cpu scale"""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        named = [row.recipe for row in self.rows if row.recipe is not None]
        return tuple(dict.fromkeys([*named, *(recipe for _, recipe in self.examples)]))
