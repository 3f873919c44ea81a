"""From a recipe's mixing to what mixes images or layers, drawn anew in each step."""

from softaug.draws import DrawKey
from softaug.mixing import CutMix, Mixup
from softaug.recipes.recipe import Mix, Recipe


def image_mixing(mix: Mix | None) -> Mixup | CutMix | None:
    """What mixes the images of a step, if any does."""
    if mix is None or mix.kind == "manifold-mixup":
        return None
    return Mixup(mix.alpha) if mix.kind == "mixup" else CutMix(mix.alpha)


def step_key(recipe: Recipe, step: int) -> DrawKey:
    """Names the draws of a step, the same in every process."""
    return DrawKey(recipe.seed, 0, step)
