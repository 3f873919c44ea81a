"""All recipes, by name."""

from functools import cache

from softaug.checks import nearest, refuse
from softaug.recipes.ablations import ablation_entries
from softaug.recipes.budgets import budget_entries
from softaug.recipes.cpu_scale import cpu_scale_entries
from softaug.recipes.entry import AnyEntry, learner_name
from softaug.recipes.figure3 import figure3_entries
from softaug.recipes.imagenet_rows import imagenet_entries
from softaug.recipes.paper_rows import paper_row_entries
from softaug.recipes.pretrain_rows import pretrain_entries
from softaug.recipes.rivals import rival_entries


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
