"""The changes that rows are made of: each returns a part of a recipe with one thing changed."""

from dataclasses import replace
from typing import Literal

from softaug.recipes.crops import Crop
from softaug.recipes.recipe import Augment, LossSpec, Recipe

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
