"""The catalogue on a terminal, and as plain names for other programs."""

import json
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.checks import nearest, refuse
from softaug.recipes.catalogue import entries
from softaug.recipes.entry import AnyEntry, header
from softaug.recipes.paper_numbers import spread
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.serialise import as_dict, dotted

WIDE = 140  # columns; below, `about` goes under the name, which begins with data and model
OTHERS = 50  # columns that error and cost take


def show_recipes(words: tuple[str, ...], console: Console) -> None:
    """The rows whose name contains every word: a table, or names alone when piped.

    On a terminal, the only row found and one called by its full name are shown whole.
    """
    wanted = [word.lower() for word in words]
    found = matching(wanted)
    if not console.is_terminal:
        for entry in found:
            _print(entry.recipe.name, console)
        return
    console.print(_table(found, console.width))
    for entry in found:
        if len(found) == 1 or entry.recipe.name in wanted:
            _print(f"{header(entry)}\n{settings(entry.recipe)}\n", console)


def _print(text: str, console: Console) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def matching(words: Sequence[str]) -> list[AnyEntry]:
    """The rows whose name contains every word; none is refused with the nearest name."""
    found = [entry for entry in entries() if all(word in entry.recipe.name for word in words)]
    if not found:
        rule = "a recipe's name must contain every word"
        refuse("recipes", rule, " ".join(words), _remedy(words))
    return found


def _remedy(words: Sequence[str]) -> str:
    """The name most like the words; else the part of a name most like the first unknown word."""
    names = [entry.recipe.name for entry in entries()]
    parts = sorted({part for name in names for part in name.split("-")})
    unknown = [word for word in words if not any(word in name for name in names)]
    remedy = nearest("-".join(words), names) or (nearest(unknown[0], parts) if unknown else "")
    return remedy or "`softaug recipes` lists them all"


def _table(found: Sequence[AnyEntry], width: int) -> Table:
    table, wide = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False), width >= WIDE
    longest = max(len(entry.recipe.name) for entry in found)  # a name is never broken
    table.add_column("recipe", width=longest if wide else max(longest, width - OTHERS))
    for name in ("data", "model", "about") if wide else ():
        table.add_column(name)
    table.add_column("error % (paper)", justify="right", no_wrap=True)
    table.add_column("cost")
    for entry in found:
        table.add_row(*_cells(entry, wide=wide))
    return table


def _cells(entry: AnyEntry, *, wide: bool) -> list[Text]:
    recipe = entry.recipe
    if wide:
        start = [Text(recipe.name), Text(recipe.data.name), Text(recipe.model), Text(entry.about)]
    else:
        start = [Text.assemble(recipe.name, "\n", (entry.about, "dim"))]
    return [*start, Text(_paper_error(entry)), Text(entry.cost)]


def _paper_error(entry: AnyEntry) -> str:
    """The paper's first error on the row's own test images: tables agree but for its spread."""
    for number in entry.paper:
        if number.error is not None and not number.on:
            return spread(number.error, number.se)
    return "-"


def settings(recipe: AnyRecipe) -> str:
    """Every setting of a recipe on a line of its own, by the name that overrides it."""
    flat = dotted(as_dict(recipe))
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in flat.items())
