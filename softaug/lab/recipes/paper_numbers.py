"""What the paper reports, in %, and what its tables and figures are made of.

The numbers stand in paper_numbers.json, by the recipe they are of; beside them those that the paper
quotes from other papers. None of them was measured here.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

V2 = "ImageNet-V2"
HIDDEN = (20, 40, 60, 80)  # % of an image under the occluding patch


@dataclass(frozen=True)
class PaperNumber:
    """A result of the paper, as printed there."""

    table: str
    """its number there, or "text" """
    error: float | None = None
    """top-1 error in %; of the linear probe where labels are not learned from"""
    se: float | None = None
    """standard error of it; 0 is printed as <0.01"""
    ece: float | None = None
    """calibration error in %, 10 bins in Table 3, not stated in Table 7"""
    ece_se: float | None = None
    quoted: bool = False
    """whether the paper took it from another one"""
    on: str = ""
    """the images it is of, where they are not the recipe's test images as they are"""

    @property
    def place(self) -> str:
        """Where the paper has it.

        >>> PaperNumber("2", 18.31, 0.17).place
        'Table 2'
        >>> PaperNumber("3", 17.21, ece=3.32, quoted=True).place
        'Table 3, quoted there'
        """
        place = self.table if self.table == "text" else f"Table {self.table}"
        place += {"7": ", bins not stated", "9": ", a single run"}.get(self.table, "")
        return f"{place}, quoted there" if self.quoted else place

    @property
    def shown(self) -> str:
        """The numbers as the paper rounds them.

        >>> PaperNumber("3", 14.24, 0.11, 1.76, 0.15).shown
        '14.24 ± 0.11 % error, 1.76 ± 0.15 % ECE'
        >>> PaperNumber("7", ece=9.91, on="ImageNet-V2").shown
        '9.91 % ECE on ImageNet-V2'
        """
        error = [] if self.error is None else [f"{spread(self.error, self.se)} % error"]
        ece = [] if self.ece is None else [f"{spread(self.ece, self.ece_se)} % ECE"]
        return ", ".join([*error, *ece]) + (f" on {self.on}" if self.on else "")


def spread(mean: float, se: float | None) -> str:
    """A mean and its standard error as the paper prints them.

    >>> spread(22.62, 0.0)
    '22.62 ± <0.01'
    """
    if se is None:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {f'{se:.2f}' if se else '<0.01'}"


class QuotedNumber(NamedTuple):
    """A result that the paper quotes, in %."""

    table: str
    method: str
    source: str
    """whose number it is, as the paper says"""
    data: str
    error: float
    se: float | None = None
    ece: float | None = None
    """15 bins after temperature scaling, where the paper's own rows have 10 and none"""


def paper_numbers(name: str) -> tuple[PaperNumber, ...]:
    """Return the paper's results for the recipe `name`, by table; empty where it has none."""
    return tuple(_numbers().get(name, ()))


def quoted_numbers() -> tuple[QuotedNumber, ...]:
    """Return what the paper took from other papers, in its order."""
    return tuple(QuotedNumber(**row) for row in _read()["quoted"])


@cache
def _numbers() -> dict[str, list[PaperNumber]]:
    found: dict[str, list[PaperNumber]] = {}
    for row in _read()["numbers"]:
        found.setdefault(row.pop("recipe"), []).append(PaperNumber(**row))
    return found


def _read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return content


Measure = Literal["error", "ece", "probe_error"]


@dataclass(frozen=True)
class PaperCell:
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
class PaperRow:
    """A line of a table: a recipe to be run, or what the paper quotes from others."""

    group: str
    label: str
    """unique in its group"""
    cells: tuple[PaperCell, ...]
    recipe: str | None = None
    """its name in the catalogue; None where a number is only quoted"""
    baseline: str | None = None
    """label of the row in the same group that gains are counted from"""
    quoted: str | None = None
    """whose number it is, where the paper did not measure it"""


@dataclass(frozen=True)
class PaperLine:
    """A line of a plot: at each x, the cell of a row."""

    label: str
    points: tuple[tuple[float, PaperRow, PaperCell], ...]


@dataclass(frozen=True)
class PaperPanel:
    """A plot."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[PaperLine, ...]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, or a study of ours."""

    name: str
    title: str
    rows: tuple[PaperRow, ...] = ()
    notes: tuple[str, ...] = ()
    of_paper: bool = True
    """else it is a study of ours, whose recipes are of the cpu scale"""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        return tuple(dict.fromkeys(row.recipe for row in self.rows if row.recipe is not None))


@dataclass(frozen=True)
class PaperFigure(PaperTable):
    """A figure of the paper, or a study of ours that is plotted."""

    panels: tuple[PaperPanel, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """(label, recipe) of the networks whose answers a figure shows; the first seed's"""
    offsets: bool = False
    """whether it shows where the crops of its rows land"""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        return tuple(dict.fromkeys([*super().recipes, *(recipe for _, recipe in self.examples)]))
