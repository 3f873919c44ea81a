"""Augmented versions of a few images, each with what is left of its label."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.data.stats import IMAGENET_MEAN
from softaug.draws import DrawKey
from softaug.label import SoftLabel
from softaug.recipes.recipe import Recipe
from softaug.softening import confidence
from softaug.training.augmentation import Chain, build_chain, scheduled


class Version(NamedTuple):
    """An augmented image, the share of it that is visible, and what its label says."""

    image: Tensor  # [3, H, W] uint8
    visible: float
    retained: float
    confidence: float  # 1 where the loss takes labels as hard


def draw_versions(
    images: Iterable[Tensor], recipe: Recipe, size: int, *, draws: int, seed: int, num_classes: int
) -> list[list[Version]]:
    """For each of the images [3, H, W] what the first `draws` epochs of training see of it.

    Each is drawn by itself, at its own size; windows are resized to `size`. Borders of the
    data's mean colour have ImageNet's, as in training on a folder of files.
    """
    first = scheduled(recipe.augment, 0, recipe.epochs)
    chain = build_chain(first, [255 * mean for mean in IMAGENET_MEAN], size)
    chance = None if recipe.loss.soften == "none" else num_classes
    return [
        [
            _version(chain, image, DrawKey(seed, epoch, torch.tensor([place])), chance)
            for epoch in range(draws)
        ]
        for place, image in enumerate(images)
    ]


def _version(chain: Chain, image: Tensor, key: DrawKey, num_classes: int | None) -> Version:
    """One draw; without a number of classes the label stays hard."""
    changed, visible, kept = augmented(chain, image[None], key)
    sure = 1.0 if num_classes is None else float(confidence(kept, num_classes))
    return Version(changed[0], float(visible), float(kept), sure)


def augmented(chain: Chain, images: Tensor, key: DrawKey) -> tuple[Tensor, Tensor, Tensor]:
    """The images after the chain, and of each the visible and the retained share, [N].

    The same images and labels as `chain` gives, which keeps no visible share.
    """
    label = SoftLabel(torch.zeros(len(images), dtype=torch.long), torch.ones(len(images)))
    visible = torch.ones(len(images), dtype=torch.float64)
    for transform in chain.transforms:
        params = transform.draw(images, key=key)
        images, label = transform.apply(images, params), transform.report(label, params)
        visible = visible * params.visible
    assert isinstance(label.retained, Tensor)
    return images, visible, label.retained
