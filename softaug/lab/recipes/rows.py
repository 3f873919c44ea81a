"""A row of the catalog: a recipe, what it is for, what the paper got, what it costs.

A row is its parent with some settings changed:
`derive(parent, "soft-target", about, {"loss.soften": "target"})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from softaug.lab.recipes.config import AnyRecipe, PretrainRecipe, Recipe
from softaug.lab.recipes.paper_numbers import PaperNumber, paper_numbers
from softaug.lab.recipes.serialize import as_dict, differences


@dataclass(frozen=True)
class AnyEntry:
    """A recipe that can be trained by its name, with labels or without."""

    recipe: AnyRecipe
    about: str
    """one line: what it is, and why it differs from its parent"""
    paper: tuple[PaperNumber, ...]
    """the paper's results for this row, none of them measured here; empty where it has none"""
    cost: str
    """what one run takes"""
    parent: AnyEntry | None = field(default=None, repr=False)
    """the row it was made from"""

    @property
    def command(self) -> str:
        """What to type to train it."""
        return f"softaug train {self.recipe.name}"

    @property
    def changes(self) -> list[str]:
        """What differs from the parent, except the name."""
        if self.parent is None:
            return []
        lines = differences(as_dict(self.parent.recipe), as_dict(self.recipe))
        return [line for line in lines if not line.startswith("name: ")]


@dataclass(frozen=True)
class Entry(AnyEntry):
    """A recipe that learns from labels."""

    recipe: Recipe


@dataclass(frozen=True)
class PretrainEntry(AnyEntry):
    """A recipe that learns without labels."""

    recipe: PretrainRecipe


E = TypeVar("E", bound=AnyEntry)
P = TypeVar("P")


def root(recipe: Recipe, about: str, cost: str) -> Entry:
    """Make a row without a parent; the paper's numbers are found by its name."""
    return Entry(recipe, about, paper_numbers(recipe.name), cost)


def pretrain_root(recipe: PretrainRecipe, about: str, cost: str) -> PretrainEntry:
    """Make a row without a parent and without labels."""
    return PretrainEntry(recipe, about, paper_numbers(recipe.name), cost)


def derive(parent: E, arm: str, about: str, changes: Mapping[str, Any]) -> E:
    """Make the row for `arm`: the recipe of `parent` with settings changed, at the same cost."""
    name = row_name(parent.recipe.data.name, learner_name(parent.recipe), arm)
    recipe = change(parent.recipe, {"name": name, **changes})
    return replace(parent, recipe=recipe, about=about, paper=paper_numbers(name), parent=parent)


def change(part: P, changes: Mapping[str, Any]) -> P:
    """Return a recipe, or a part of one, with settings changed by their dotted names.

    >>> change(Recipe("a", "resnet8"), {"epochs": 5, "optim.lr": 0.05}).optim.lr
    0.05
    """
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        first, _, rest = path.partition(".")
        if rest:
            inner.setdefault(first, {})[rest] = value
        else:
            own[first] = value
    for first, settings in inner.items():
        own[first] = change(own.get(first, getattr(part, first)), settings)
    return replace(part, **own)  # type: ignore[type-var]


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


def header(entry: AnyEntry) -> str:
    """Return comment lines: the command, what the row is, what to expect, what it costs."""
    lines = [entry.command, entry.about]
    if entry.parent is not None:
        lines.append(f"Differs from {entry.parent.recipe.name} in:")
        lines += [f"  {line}" for line in entry.changes]
    places: dict[str, list[str]] = {}  # of each distinct result of the paper's
    for number in entry.paper:
        places.setdefault(number.shown, []).append(number.place)
    expected = [f"{shown} (paper: {', '.join(where)})" for shown, where in places.items()]
    lines += [f"Expect: {line}" for line in expected or ["the paper has no number for this row"]]
    lines.append(f"Cost: {entry.cost}")
    return "\n".join(f"# {line}" for line in lines)
