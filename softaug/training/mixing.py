"""From a recipe's mixing to what mixes images or layers, drawn anew in each step."""

from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn

from softaug.draws import DrawKey
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import BatchMix, CutMix, Mixup
from softaug.models.manifold_mixup import ManifoldMixup, ManifoldParams
from softaug.recipes.recipe import Mix, Recipe


def image_mixing(mix: Mix) -> BatchMix[Any] | None:
    """What mixes the images of a step, if any does."""
    kinds: dict[str, type[BatchMix[Any]]] = {"mixup": Mixup, "cutmix": CutMix}
    return kinds[mix.kind](mix.alpha) if mix.kind in kinds else None


def step_key(recipe: Recipe, step: int) -> DrawKey:
    """Names the draws of a step, the same in every process."""
    return DrawKey(recipe.seed, 0, step)


class HiddenMixing:
    """Manifold Mixup of a network in training: the layer and the shares of each step.

    Partners are of the process's own images: a layer's output is nowhere else.
    """

    def __init__(self, net: nn.Module, recipe: Recipe) -> None:
        self._mixup = ManifoldMixup(net.get_submodule("net"), alpha=recipe.mix.alpha)
        self._recipe = recipe

    def mixing(self, step: int, num: int) -> AbstractContextManager[ManifoldParams]:
        """Forward passes of `num` images in here mix one layer's output."""
        return self._mixup.mixing(num, key=step_key(self._recipe, step))

    def report(self, label: Tensor | SoftLabel, params: ManifoldParams) -> MixedLabel:
        """The labels of what was mixed."""
        return self._mixup.report(label, params)


def hidden_mixing(net: nn.Module, recipe: Recipe) -> HiddenMixing | None:
    """What mixes layers, if the recipe does; `net` standardises, then has the network proper."""
    return HiddenMixing(net, recipe) if recipe.mix.kind == "manifold-mixup" else None
