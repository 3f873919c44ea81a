"""Rows for one CPU core: a small network on all of CIFAR, and the embedded digits."""

from dataclasses import replace
from typing import Literal

from softaug.recipes.changes import cropped, softened, with_policy
from softaug.recipes.crops import NormalOffsets, UniformOffsets
from softaug.recipes.entry import Entry, derive, root
from softaug.recipes.recipe import (
    Augment,
    Cutout,
    DataSpec,
    Mix,
    Optim,
    Recipe,
)

# From training steps alone: 620 and 1500 images a second, one thread of an AMD EPYC, torch 2.15.
_CIFAR_COST = "about 40 minutes on one CPU core"
_DIGITS_COST = "about 10 seconds on one CPU core"


def cpu_scale_entries() -> list[Entry]:
    """CIFAR-100 with all arms, CIFAR-10 and digits with the three that matter most."""
    hard100, hard10 = _cifar("cifar100"), _cifar("cifar10")
    soft100, soft10 = _soft(hard100), _soft(hard10)
    beside = [_hard_normal(soft100), _soft_target(soft100), _soft_mild(soft100)]
    cifar100 = [hard100, _aggressive(hard100), soft100, *beside]
    cifar10 = [hard10, _aggressive(hard10), soft10, *_rivals(hard10, _soft_mild(soft10))]
    return [*cifar100, *cifar10, *_digits_entries()]


def _cifar(data: str) -> Entry:
    recipe = Recipe(
        name=f"{data}-resnet8-s2-hard",
        model="resnet8-s2",
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=Optim(lr=0.1),
        epochs=30,
        batch=128,
    )
    return root(recipe, "Small baseline: hard crops of up to 4 pixels", _CIFAR_COST)


def _aggressive(hard: Entry) -> Entry:
    about = "Small: hard crops of up to 16 pixels"
    augment = cropped(hard.recipe, UniformOffsets(16))
    return derive(hard, "hard-aggressive", about, augment=augment)


def _soft(hard: Entry) -> Entry:
    return derive(
        hard,
        "soft",
        "Small: Soft Augmentation, target and weight; no decay",
        augment=cropped(hard.recipe, NormalOffsets(sigma=0.3, k=2.0)),
        loss=softened(hard.recipe, "both"),
    )


def _hard_normal(soft: Entry) -> Entry:
    about = "Small: the very crops of the soft row, with hard labels"
    return derive(soft, "hard-normal", about, loss=softened(soft.recipe, "none"))


def _soft_target(soft: Entry) -> Entry:
    about = "Small: only the target softens"
    return derive(soft, "soft-target", about, loss=softened(soft.recipe, "target"))


def _soft_mild(soft: Entry) -> Entry:
    about = "Small: Soft Augmentation with nearer crops"
    augment = cropped(soft.recipe, NormalOffsets(sigma=0.1, k=2.0))
    return derive(soft, "soft-mild", about, augment=augment)


def _rivals(hard: Entry, mild: Entry) -> list[Entry]:
    """The arms of docs/rivals.md; strengths were chosen there on held-out images."""
    augment = hard.recipe.augment
    smoothing = replace(hard.recipe.loss, label_smoothing=0.05)
    trivial = with_policy(mild.recipe, "trivialaugment")
    about = "Small: soft-mild with TrivialAugment before the crop"
    return [
        mild,
        derive(hard, "label-smoothing", "Small: labels smoothed by 0.05", loss=smoothing),
        derive(hard, "mixup", "Small: Mixup of alpha 0.2", mix=Mix("mixup", alpha=0.2)),
        derive(
            hard, "cutout", "Small: Cutout of 8 pixels", augment=replace(augment, cutout=Cutout(8))
        ),
        _with_policy(hard, "randaugment", "RandAugment"),
        _with_policy(hard, "trivialaugment", "TrivialAugment"),
        derive(mild, "soft-mild-trivialaugment", about, augment=trivial),
        _soft_policy(hard, "soft-policy", "cifar100"),
        _soft_policy(hard, "soft-policy-naive", "naive"),
    ]


def _soft_policy(hard: Entry, arm: str, curves: str) -> Entry:
    """What the operations of TrivialAugment leave softens the labels, what a crop leaves not."""
    augment = hard.recipe.augment
    whole = replace(augment.crop, k=None)
    softly = replace(augment, crop=whole, policy="trivialaugment", curves=curves)
    about = f"Small: a TrivialAugment that softens by {curves} curves; crops leave labels whole"
    return derive(hard, arm, about, augment=softly, loss=softened(hard.recipe, "both"))


def _with_policy(
    hard: Entry, policy: Literal["randaugment", "trivialaugment"], words: str
) -> Entry:
    about = f"Small: {words} before the crop"
    return derive(hard, policy, about, augment=with_policy(hard.recipe, policy))


def _digits_entries() -> list[Entry]:
    hard = _digits()
    far = cropped(hard.recipe, NormalOffsets(sigma=0.3, k=2.0, fill="black"))
    aggressive = "Digits: far crops with hard labels"
    soft = "Digits: Soft Augmentation, target and weight"
    return [
        hard,
        derive(hard, "hard-aggressive", aggressive, augment=far),
        derive(hard, "soft", soft, augment=far, loss=softened(hard.recipe, "both")),
    ]


def _digits() -> Entry:
    """Digits are not flipped (a 2 is no 2 then), and their background is black."""
    crop = UniformOffsets(1, fill="black")
    recipe = Recipe(
        name="digits-resnet8-hard",
        model="resnet8",
        data=DataSpec("digits", per_class=20),
        augment=Augment(crop=crop, flip=False),
        optim=Optim(lr=0.1),
        epochs=60,
        batch=50,
    )
    return root(
        recipe, "Digits: hard crops of up to 1 of 16 pixels, 20 images a class", _DIGITS_COST
    )
