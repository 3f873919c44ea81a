"""A row of the catalogue: a recipe, what it is for, what the paper got, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from softaug.lab.recipes.augment import Augment, Crop
from softaug.lab.recipes.config import AnyRecipe, LossSpec, PretrainRecipe, Recipe
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


def root(recipe: Recipe, about: str, cost: str) -> Entry:
    """A row without a parent; the paper's numbers are found by its name."""
    return Entry(recipe, about, paper_numbers(recipe.name), cost)


def pretrain_root(recipe: PretrainRecipe, about: str, cost: str) -> PretrainEntry:
    """The same without labels."""
    return PretrainEntry(recipe, about, paper_numbers(recipe.name), cost)


def row_name(data: str, model: str, arm: str) -> str:
    """What a row is called; a model that is called after its data is not called so twice.

    >>> row_name("imagenet", "imagenet-resnet50", "soft")
    'imagenet-resnet50-soft'
    """
    return f"{data}-{model.removeprefix(f'{data}-')}-{arm}"


def learner_name(recipe: AnyRecipe) -> str:
    """The model, after the method where there are no labels, such as simsiam-resnet18."""
    if isinstance(recipe, PretrainRecipe):
        return f"{recipe.method.word}-{recipe.model}"
    return recipe.model


def derive(parent: E, arm: str, about: str, **changes: Any) -> E:
    """The row for `arm`: the recipe of `parent` with fields changed, at the same cost."""
    name = row_name(parent.recipe.data.name, learner_name(parent.recipe), arm)
    recipe = replace(parent.recipe, name=name, **changes)
    return replace(parent, recipe=recipe, about=about, paper=paper_numbers(name), parent=parent)


def header(entry: AnyEntry) -> str:
    """Comment lines: the command, what the row is, what to expect, what it costs."""
    lines = [entry.command, entry.about]
    if entry.parent is not None:
        lines.append(f"Differs from {entry.parent.recipe.name} in:")
        lines += [f"  {line}" for line in entry.changes]
    lines += [f"Expect: {line}" for line in _expected(entry.paper)]
    lines.append(f"Cost: {entry.cost}")
    return "\n".join(f"# {line}" for line in lines)


def _expected(numbers: tuple[PaperNumber, ...]) -> list[str]:
    """A line for each distinct result with the places in the paper that give it."""
    places: dict[str, list[str]] = {}
    for number in numbers:
        places.setdefault(number.shown, []).append(number.place)
    lines = [f"{shown} (paper: {', '.join(where)})" for shown, where in places.items()]
    return lines or ["the paper has no number for this row"]


DECAY = (("crop.sigma", 0.001, 0.04),)
"""The paper's: in the last 20 of 500 epochs crops hardly move."""


def cropped(recipe: Recipe, crop: Crop) -> Augment:
    """The augmentation with another crop."""
    return replace(recipe.augment, crop=crop)


def with_policy(
    recipe: Recipe, policy: Literal["randaugment", "trivialaugment", "autoaugment"]
) -> Augment:
    """The augmentation with a policy of torchvision's."""
    return replace(recipe.augment, policy=policy)


def softened(recipe: Recipe, soften: Literal["none", "target", "weight", "both"]) -> LossSpec:
    """The loss with another part softened."""
    return replace(recipe.loss, soften=soften)
