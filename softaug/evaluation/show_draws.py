"""Augmented versions of a few images, each with what is left of its label."""

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
    images: Tensor, recipe: Recipe, *, draws: int, seed: int, num_classes: int
) -> list[list[Version]]:
    """For each of the images [N, 3, H, W] what the first `draws` epochs of training see of it.

    Borders of the data's mean colour have ImageNet's, as in training on a folder of files.
    """
    first = scheduled(recipe.augment, 0, recipe.epochs)
    chain = build_chain(first, [255 * mean for mean in IMAGENET_MEAN], images.shape[-1])
    hard = recipe.loss.soften == "none"
    found: list[list[Version]] = [[] for _ in images]
    for epoch in range(draws):
        key = DrawKey(seed, epoch, torch.arange(len(images)))
        changed, visible, kept = augmented(chain, images, key)
        sure = torch.ones_like(kept) if hard else confidence(kept, num_classes)
        for place, row in enumerate(found):
            numbers = (float(values[place]) for values in (visible, kept, sure))
            row.append(Version(changed[place], *numbers))
    return found


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
