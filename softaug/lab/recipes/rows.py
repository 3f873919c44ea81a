"""A row of the catalog: a recipe, what it is for, what the paper got, what it costs.

A row is its parent with some settings changed:
`derive(parent, "soft-target", about, {"loss.soften": "target"})`. Those that differ in plain
settings stand in arms.json, by family.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from softaug.lab.recipes import augment
from softaug.lab.recipes.config import AnyRecipe, PretrainRecipe, Uncertainty
from softaug.lab.recipes.paper_numbers import PaperNumber, paper_numbers
from softaug.lab.recipes.serialize import as_dict, differences

Arm = tuple[str, str, Mapping[str, Any]]
"""the arm that it is made from, one line about it, and the settings that it changes"""
Arms = Mapping[str, Arm]
P = TypeVar("P")


@dataclass(frozen=True)
class Entry:
    """A recipe that can be trained by its name, with labels or without."""

    recipe: AnyRecipe
    about: str
    """one line: what it is, and why it differs from its parent"""
    cost: str
    """what one run takes"""
    parent: Entry | None = field(default=None, repr=False)
    """the row it was made from"""

    @property
    def paper(self) -> tuple[PaperNumber, ...]:
        """The paper's results for this row, none of them measured here; empty where it has none."""
        return paper_numbers(self.recipe.name)

    @property
    def changes(self) -> list[str]:
        """What differs from the parent, except the name."""
        if self.parent is None:
            return []
        lines = differences(as_dict(self.parent.recipe), as_dict(self.recipe))
        return [line for line in lines if not line.startswith("name: ")]


def derive(parent: Entry, arm: str, about: str, changes: Mapping[str, Any]) -> Entry:
    """Make the row for `arm`: the recipe of `parent` with settings changed, at the same cost."""
    name = row_name(parent.recipe.data.name, learner_name(parent.recipe), arm)
    recipe = change(parent.recipe, {"name": name, **changes})
    return replace(parent, recipe=recipe, about=about, parent=parent)


def derive_arms(rows: Mapping[str, Entry], arms: Arms, prefix: str = "") -> dict[str, Entry]:
    """Make the rows of `arms`, whose parents are in `rows` or before them; return the new ones."""
    made: dict[str, Entry] = {}
    for arm, (parent, about, changes) in arms.items():
        made[arm] = derive((made if parent in made else rows)[parent], prefix + arm, about, changes)
    return made


@cache
def read_arms(family: str) -> Arms:
    """Return the arms of a family in arms.json."""
    arms = json.loads(Path(__file__).with_name("arms.json").read_text("utf-8"))[family]
    return {
        arm: (parent, about, {name: _read_setting(name, value) for name, value in changes.items()})
        for arm, (parent, about, changes) in arms.items()
    }


def _read_setting(name: str, value: Any) -> Any:
    """Make a crop of {"NormalOffsets": {"sigma": 0.3}}, a method of settings, tuples of lists."""
    if isinstance(value, list):
        return tuple(_read_setting(name, each) for each in value)
    if not isinstance(value, dict):
        return value
    if name == "uncertainty":
        return Uncertainty(**{part: _read_setting(part, each) for part, each in value.items()})
    ((kind, settings),) = value.items()
    return getattr(augment, kind)(**settings)


def change(part: P, changes: Mapping[str, Any]) -> P:
    """Return a recipe, or a part of one, with settings changed by their dotted names.

    >>> from softaug.lab.recipes.config import Recipe
    >>> change(Recipe("a", "resnet8"), {"epochs": 5, "optim.lr": 0.05}).optim.lr
    0.05
    """
    for path, value in changes.items():
        first, _, rest = path.partition(".")
        new = change(getattr(part, first), {rest: value}) if rest else value
        part = replace(part, **{first: new})  # type: ignore[type-var]
    return part


def row_name(data: str, model: str, arm: str) -> str:
    """Name a row; a model that is called after its data is not called so twice.

    >>> row_name("imagenet", "imagenet-resnet50", "soft")
    'imagenet-resnet50-soft'
    """
    return f"{data}-{model.removeprefix(f'{data}-')}-{arm}"


def learner_name(recipe: AnyRecipe) -> str:
    """Name the model, after the method where there are no labels, such as simsiam-resnet18."""
    if isinstance(recipe, PretrainRecipe):
        return f"{recipe.method.word}-{recipe.model}"
    return recipe.model


def header(entry: Entry) -> str:
    """Return comment lines: the command, what the row is, what to expect, what it costs."""
    lines = [f"softaug train {entry.recipe.name}", entry.about]
    if entry.parent is not None:
        lines.append(f"Differs from {entry.parent.recipe.name} in:")
        lines += [f"  {line}" for line in entry.changes]
    sources: dict[str, list[str]] = {}  # of each distinct result of the paper's
    for number in entry.paper:
        sources.setdefault(number.shown, []).append(number.where)
    expected = [f"{shown} (paper: {', '.join(tables)})" for shown, tables in sources.items()]
    lines += [f"Expect: {line}" for line in expected or ["the paper has no number for this row"]]
    lines.append(f"Cost: {entry.cost}")
    return "\n".join(f"# {line}" for line in lines)
