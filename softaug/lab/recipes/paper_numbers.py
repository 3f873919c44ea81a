"""What the paper reports, in %, and what its tables and figures are made of.

The rows stand in paper_numbers.json, table by table: those of recipes, and those that the paper
quotes from other papers. None of the numbers was measured here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

V2 = "ImageNet-V2"
HIDDEN = (20, 40, 60, 80)  # % of an image under the occluding patch


@dataclass(frozen=True)
class PaperNumber:
    """A row of the paper's tables, or a number in its text, as printed there."""

    table: str
    """its number there, or "text" """
    group: str = ""
    label: str = ""
    """unique in its group"""
    recipe: str | None = None
    """its name in the catalog; None where a number is only quoted"""
    source: str | None = None
    """whose number it is, as the paper says, where it quotes one"""
    error: float | None = None
    """top-1 error in %; of the linear probe where labels are not learned from"""
    se: float | None = None
    """standard error of it; 0 is printed as <0.01"""
    ece: float | None = None
    """calibration error in %, 10 bins in Table 3, not stated in Table 7"""
    ece_se: float | None = None
    quoted: bool = False
    """whether the paper took the number of a recipe from another paper"""
    on: str = ""
    """the images it is of, where they are not the recipe's test images as they are"""
    diverged: bool = False
    """whether the paper says that training diverged, in place of a number"""

    @property
    def where(self) -> str:
        """Where the paper has it.

        >>> PaperNumber("2").where
        'Table 2'
        >>> PaperNumber("3", quoted=True).where
        'Table 3, quoted there'
        """
        where = self.table if self.table == "text" else f"Table {self.table}"
        if self.source:
            return f"{where}, quoted from {self.source}"
        where += {"7": ", bins not stated", "9": ", a single run"}.get(self.table, "")
        return f"{where}, quoted there" if self.quoted else where

    @property
    def shown(self) -> str:
        """The numbers as the paper rounds them.

        >>> PaperNumber("3", error=14.24, se=0.11, ece=1.76, ece_se=0.15).shown
        '14.24 ± 0.11 % error, 1.76 ± 0.15 % ECE'
        >>> PaperNumber("7", ece=9.91, on="ImageNet-V2").shown
        '9.91 % ECE on ImageNet-V2'
        """
        error = [] if self.error is None else [f"{spread(self.error, self.se)} % error"]
        ece = [] if self.ece is None else [f"{spread(self.ece, self.ece_se)} % ECE"]
        return ", ".join([*error, *ece]) + (f" on {self.on}" if self.on else "")


def spread(mean: float, se: float | None) -> str:
    """Format a mean and its standard error as the paper prints them.

    >>> spread(22.62, 0.0)
    '22.62 ± <0.01'
    """
    if se is None:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {f'{se:.2f}' if se else '<0.01'}"


def paper_numbers(name: str) -> tuple[PaperNumber, ...]:
    """Return the paper's results for the recipe `name`, by table; empty where it has none."""
    return tuple(_by_recipe().get(name, ()))


@cache
def _by_recipe() -> dict[str, list[PaperNumber]]:
    by_recipe: dict[str, list[PaperNumber]] = {}
    numbers = [each for each in read_paper() if each.error is not None or each.ece is not None]
    for number in sorted(numbers, key=lambda each: each.source is not None):  # the paper's first
        if number.recipe and not (number.source and number.recipe in by_recipe):
            by_recipe.setdefault(number.recipe, []).append(number)
    return by_recipe


@cache
def read_paper() -> tuple[PaperNumber, ...]:
    """Return every row of the paper's tables, in their order, then numbers of its text."""
    rows = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))["rows"]
    return tuple(PaperNumber(**row) for row in rows)


Measure = Literal["error", "ece", "probe_error", "best_error"]


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
    """a remark"""


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
    most_seeds: int | None = None
    """how many seeds it has at most; None is as many as its table's"""


MAIN_CELLS = (PaperCell("error"), PaperCell("ece"), PaperCell("error", "images 40 % hidden"))


def study_rows(
    group: str,
    recipes: Mapping[str, str],
    cells: tuple[PaperCell, ...] = MAIN_CELLS,
    most_seeds: Mapping[str, int] | None = None,
) -> tuple[PaperRow, ...]:
    """Return a row of a study for each recipe, by label; gains are counted from the first."""
    first, most = next(iter(recipes)), most_seeds or {}
    return tuple(
        PaperRow(
            group,
            label,
            cells,
            recipe,
            baseline=None if label == first else first,
            most_seeds=most.get(recipe),
        )
        for label, recipe in recipes.items()
    )


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
    gains: bool = False
    """whether it shows how much better than its baseline row each row is"""


@dataclass(frozen=True)
class PaperTable:
    """A table or a figure of the paper, or a study of ours."""

    name: str
    title: str
    rows: tuple[PaperRow, ...] = ()
    notes: tuple[str, ...] = ()
    num_seeds: int = 3
    """seeds of a recipe, unless its row has fewer"""
    compare: bool = False
    """whether the arms of each group get a page that compares them"""
    panels: tuple[PaperPanel, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """(label, recipe) of the networks whose answers a figure shows; the first seed's"""
    offsets: bool = False
    """whether a figure shows where the crops of its rows land"""

    @property
    def of_paper(self) -> bool:
        """Whether it is the paper's; else it is a study of ours, with recipes of the cpu scale."""
        return self.name.startswith(("table", "figure"))

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        of_rows = [row.recipe for row in self.rows if row.recipe is not None]
        return tuple(dict.fromkeys([*of_rows, *(recipe for _, recipe in self.examples)]))
