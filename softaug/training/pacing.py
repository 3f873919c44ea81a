"""The pacer of a recipe, and the augmentation at a strength that it has set."""

from dataclasses import replace
from typing import NamedTuple

from softaug.pacing import AccuracyLine, ConfidenceMatch, HeldOutGap, Pacer, Rule
from softaug.recipes.crops import NormalOffsets, NormalWindows
from softaug.recipes.pace import Pace
from softaug.recipes.recipe import Augment
from softaug.transforms import SoftCrop


class Strength(NamedTuple):
    """What a pacer has set for an epoch."""

    epoch: int
    sigma: float
    k: float | None  # None leaves the recipe's


def build_pacer(augment: Augment, epochs: int) -> Pacer | None:
    """The pacer that a recipe asks for; its crop only holds what it sets.

    Batches are made by crops of plain numbers (`at_strength`), so that each stays a function of
    numbers, in whatever process it is made.
    """
    pace, crop = augment.pace, augment.crop
    if not pace.on:
        return None
    assert isinstance(crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    return Pacer(
        SoftCrop("auto", "auto" if pace.find_k else 2.0),
        epochs,
        _rule(pace),
        first=crop.sigma,
        least=pace.least,
        most=pace.most,
        factor=pace.factor,
        first_k=crop.k or 2.0,
    )


def _rule(pace: Pace) -> Rule:
    if pace.rule == "held-out-gap":
        return HeldOutGap()
    return (AccuracyLine if pace.rule == "accuracy-line" else ConfidenceMatch)(pace.goal)


def strength_of(pacer: Pacer) -> Strength:
    """What holds in the epoch that the pacer is in."""
    return Strength(pacer.epoch, pacer.sigma, pacer.k)


def at_strength(augment: Augment, strength: Strength) -> Augment:
    """The augmentation with the crop that a pacer asks for.

    >>> soft = Augment(NormalOffsets(sigma=0.3), pace=Pace("accuracy-line"))
    >>> at_strength(soft, Strength(epoch=7, sigma=0.25, k=None)).crop.sigma
    0.25
    """
    assert isinstance(augment.crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    k = augment.crop.k if strength.k is None else strength.k
    return replace(augment, crop=replace(augment.crop, sigma=strength.sigma, k=k))
