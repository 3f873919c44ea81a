"""The pacer of a recipe, and the augmentation at a strength that it has set."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from softaug.pacing import (
    AccuracyHold,
    AccuracyLine,
    ConfidenceMatch,
    HeldOutGap,
    Pacer,
    Rule,
)
from softaug.recipes.crops import NormalOffsets, NormalWindows
from softaug.recipes.pace import Pace
from softaug.recipes.recipe import Augment
from softaug.transforms import SoftCrop


class Strength(NamedTuple):
    """What a pacer has set for an epoch."""

    epoch: int
    sigma: float
    k: float | None  # None leaves the recipe's
    own: Tensor | None = None  # sigma of each training sample, [N]; None where all have one


def build_pacer(augment: Augment, epochs: int, num_classes: int, num_samples: int) -> Pacer | None:
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
        by=pace.by,
        num={"all": None, "class": num_classes, "sample": num_samples}[pace.by],
        first=crop.sigma,
        least=pace.least,
        most=pace.most,
        factor=pace.factor,
        settle=pace.settle,
        first_k=crop.k or 2.0,
    )


_RULES: dict[str, Callable[..., Rule]] = {
    "accuracy-hold": AccuracyHold,
    "accuracy-line": AccuracyLine,
    "confidence-match": ConfidenceMatch,
    "held-out-gap": HeldOutGap,
}


def _rule(pace: Pace) -> Rule:
    """With what the recipe gives it; else its own settings."""
    settings = {"goal": pace.goal, "since": pace.since}
    return _RULES[pace.rule](**{name: own for name, own in settings.items() if own is not None})


def strength_of(pacer: Pacer, labels: Tensor) -> Strength:
    """What holds in the epoch that the pacer is in, for training samples of these `labels` [N].

    A class's sigma is that of each of its samples: draws know a sample's place alone.
    """
    own = None if pacer.by == "all" else pacer.strengths
    if own is not None and pacer.by == "class":
        own = own[labels.cpu()]
    return Strength(pacer.epoch, pacer.strength, pacer.k, own)


def told(pacer: Pacer) -> dict[str, float]:
    """What to log of the strengths that the pacer has set.

    Where there are many, a tenth is below `sigma_low` and a tenth above `sigma_high`.
    """
    found = {"sigma": pacer.strength} | ({} if pacer.k is None else {"k": pacer.k})
    if pacer.by != "all":
        ordered = pacer.strengths.sort().values
        tenth = len(ordered) // 10
        found |= {"sigma_low": float(ordered[tenth]), "sigma_high": float(ordered[-1 - tenth])}
    return found


def at_strength(augment: Augment, strength: Strength) -> Augment:
    """The augmentation with the crop that a pacer asks for.

    >>> soft = Augment(NormalOffsets(sigma=0.3), pace=Pace("accuracy-line"))
    >>> at_strength(soft, Strength(epoch=7, sigma=0.25, k=None)).crop.sigma
    0.25
    """
    assert isinstance(augment.crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    k = augment.crop.k if strength.k is None else strength.k
    return replace(augment, crop=replace(augment.crop, sigma=strength.sigma, k=k))
