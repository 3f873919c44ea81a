"""Rows of the paper's tables, with its numbers looked up by recipe and table."""

from collections.abc import Sequence

from softaug.paper.exhibit import Cell, Measure, Row
from softaug.recipes.catalogue import find
from softaug.recipes.paper_numbers import PaperNumber
from softaug.recipes.quoted_numbers import QUOTED, QuotedNumber

ANOTHER = "another paper"
CIFAR = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10"}


def row(
    table: str,
    group: str,
    label: str,
    recipe: str,
    baseline: str | None = None,
    measures: Sequence[Measure] = ("error",),
    on: str = "",
    why: str = "",
) -> Row:
    """The row of a recipe; without a number in that table its cells have none of the paper's."""
    found = [number for number in find(recipe).paper if (number.table, number.on) == (table, on)]
    number = found[0] if found else PaperNumber(table, on=on)
    cells = tuple(_cell(measure, number, why) for measure in measures)
    return Row(group, label, cells, recipe, baseline)


def _cell(measure: Measure, number: PaperNumber, why: str) -> Cell:
    source = ANOTHER if number.quoted else ""
    if measure == "ece":
        return Cell(measure, number.on, number.ece, number.ece_se, source=source, why=why)
    return Cell(measure, number.on, number.error, number.se, source=source, why=why)


def quoted(table: str, data: str, method: str = "", source: str = "") -> list[QuotedNumber]:
    """What the paper took from others for a table: of that method or source, in its order."""
    return [
        number
        for number in QUOTED
        if (number.table, number.data) == (table, data)
        and method in ("", number.method)
        and source in ("", number.source)
    ]


def quoted_row(group: str, label: str, number: QuotedNumber) -> Row:
    """The row of a number that nobody runs here."""
    cells = [Cell("error", value=number.error, se=number.se, source=number.source)]
    if number.ece is not None:
        cells.append(Cell("ece", value=number.ece, source=number.source))
    return Row(group, label, tuple(cells), quoted=number.source)
