"""All recipes, by name."""

from functools import cache

from softaug.checks import nearest, refuse
from softaug.lab.recipes.budgets import budget_entries
from softaug.lab.recipes.by_class import by_class_entries
from softaug.lab.recipes.cifar import (
    ablation_entries,
    cpu_scale_entries,
    paper_entries,
    release_entries,
)
from softaug.lab.recipes.demo import demo_entries
from softaug.lab.recipes.fast import fast_entries
from softaug.lab.recipes.fine_tuning import fine_tuning_entries
from softaug.lab.recipes.imagenet import imagenet_entries
from softaug.lab.recipes.pairs import pretrain_entries
from softaug.lab.recipes.rivals import rivals_entries
from softaug.lab.recipes.rows import Entry, learner_name
from softaug.lab.recipes.where_it_pays import where_it_pays_entries


@cache
def entries() -> tuple[Entry, ...]:
    """Return every row, by data set and model, then as the files of this package list them."""
    rows: tuple[Entry, ...] = (
        *paper_entries(),
        *ablation_entries(),
        *release_entries(),
        *cpu_scale_entries(),
        *budget_entries(),
        *where_it_pays_entries(),
        *fast_entries(),
        *demo_entries(),
        *by_class_entries(),
        *rivals_entries(),
        *imagenet_entries(),
        *fine_tuning_entries(),
        *pretrain_entries(),
    )
    families = list(dict.fromkeys(map(family_of, rows)))
    return tuple(sorted(rows, key=lambda entry: families.index(family_of(entry))))


def family_of(entry: Entry) -> tuple[str, str]:
    """Return the data set and the learner of a row."""
    return entry.recipe.data.name, learner_name(entry.recipe)


def find(name: str) -> Entry:
    """Return the row called `name`; refuse an unknown name with the nearest."""
    by_name = _by_name()
    if name not in by_name:
        remedy = nearest(name, list(by_name)) or "`softaug recipes` lists them"
        refuse("recipes", "name must be that of a recipe", repr(name), remedy)
    return by_name[name]


@cache
def _by_name() -> dict[str, Entry]:
    return {entry.recipe.name: entry for entry in entries()}
