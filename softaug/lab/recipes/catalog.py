"""All recipes, by name."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.checks import nearest, refuse
from softaug.lab.recipes.ablations import ablation_entries, figure3_entries, rival_entries
from softaug.lab.recipes.budgets import budget_entries
from softaug.lab.recipes.cifar import cpu_scale_entries, paper_row_entries
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.imagenet import imagenet_entries
from softaug.lab.recipes.paper_numbers import spread
from softaug.lab.recipes.registry import AnyEntry, header, learner_name
from softaug.lab.recipes.serialize import as_dict, dotted
from softaug.lab.recipes.ssl import pretrain_entries


@cache
def entries() -> tuple[AnyEntry, ...]:
    """Every row, sorted by data set, model and arm as the files of this package list them."""
    found: tuple[AnyEntry, ...] = (
        *paper_row_entries(),
        *rival_entries(),
        *ablation_entries(),
        *figure3_entries(),
        *cpu_scale_entries(),
        *budget_entries(),
        *imagenet_entries(),
        *pretrain_entries(),
    )
    families = list(dict.fromkeys(map(_family, found)))
    return tuple(sorted(found, key=lambda entry: families.index(_family(entry))))


def _family(entry: AnyEntry) -> tuple[str, str]:
    return entry.recipe.data.name, learner_name(entry.recipe)


def find(name: str) -> AnyEntry:
    """The row called `name`; an unknown name is refused with the nearest."""
    known = {entry.recipe.name: entry for entry in entries()}
    if name not in known:
        remedy = nearest(name, list(known)) or "`softaug recipes` lists them"
        refuse("recipes", "name must be that of a recipe", repr(name), remedy)
    return known[name]


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


def recipes(words: Annotated[tuple[str, ...], tyro.conf.Positional] = ()) -> None:
    """List what can be trained, the paper's error beside it; piped, one name a line.

    Args:
        words: Parts of a name, such as cifar100 soft; a full name shows every setting.
    """
    show_recipes(words, Console())
