"""ResNet-18 on CIFAR-100: the methods that the paper compares with (Tables 1, 5 and 6)."""

from dataclasses import replace
from typing import Literal

from softaug.recipes.changes import with_policy
from softaug.recipes.entry import Entry, derive
from softaug.recipes.paper_rows import hard_entry, soft_entry, soft_randaugment_entry
from softaug.recipes.recipe import Cutout, Mix, Noise

FOCAL_GAMMAS = (1, 2, 5)
NOISE = Noise(sigma=0.1)


def rival_entries() -> list[Entry]:
    """Each is the baseline, or Soft Augmentation, plus what its name says."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    return [
        *_mixed(hard),
        _soft_mixup(soft),
        _cutout(hard),
        _online_label_smoothing(hard),
        *[_focal(hard, gamma) for gamma in FOCAL_GAMMAS],
        *_policies(hard, soft),
        *_noise(hard, soft),
    ]


def _mixed(hard: Entry) -> list[Entry]:
    kinds: tuple[Literal["mixup", "cutmix", "manifold-mixup"], ...] = (
        "mixup",
        "cutmix",
        "manifold-mixup",
    )
    abouts = {
        "mixup": "Baseline with Mixup: images are blended",
        "cutmix": "Baseline with CutMix: a box of another image is pasted; not in the paper",
        "manifold-mixup": "Baseline with Manifold Mixup: what a layer makes of images is blended; "
        "the paper only quotes others' numbers",
    }
    return [derive(hard, kind, abouts[kind], mix=Mix(kind, alpha=1.0)) for kind in kinds]


def _soft_mixup(soft: Entry) -> Entry:
    about = "Soft Augmentation, then Mixup of the soft labels; not in the paper"
    return derive(soft, "soft-mixup", about, mix=Mix("mixup", alpha=1.0))


def _cutout(hard: Entry) -> Entry:
    about = "Baseline with Cutout: a square of 8 pixels is erased"
    return derive(hard, "cutout", about, augment=replace(hard.recipe.augment, cutout=Cutout(8)))


def _online_label_smoothing(hard: Entry) -> Entry:
    about = "Baseline with online label smoothing, half of each label; share 0.5 is its authors'"
    loss = replace(hard.recipe.loss, online_smoothing=0.5)
    return derive(hard, "online-label-smoothing", about, loss=loss)


def _focal(hard: Entry, gamma: int) -> Entry:
    about = f"Baseline with focal loss, gamma {gamma} (which the paper calls alpha)"
    loss = replace(hard.recipe.loss, focal_gamma=float(gamma))
    return derive(hard, f"focal-gamma{gamma}", about, loss=loss)


def _policies(hard: Entry, soft: Entry) -> list[Entry]:
    autoaugment = "Baseline with AutoAugment's CIFAR policy before the crop; not in the paper"
    policy = "Soft Augmentation with a TrivialAugment that softens too, by fitted curves"
    naive = "Soft Augmentation with a TrivialAugment that softens too, by unfitted curves"
    augment = soft.recipe.augment
    return [
        derive(hard, "autoaugment", autoaugment, augment=with_policy(hard.recipe, "autoaugment")),
        derive(
            soft,
            "soft-policy",
            policy,
            augment=replace(augment, policy="trivialaugment", curves="cifar100"),
        ),
        derive(
            soft,
            "soft-policy-naive",
            naive,
            augment=replace(augment, policy="trivialaugment", curves="naive"),
        ),
    ]


def _noise(hard: Entry, soft: Entry) -> list[Entry]:
    """Table 6; where noise alone softens, the usual crop leaves labels whole."""
    augment = hard.recipe.augment
    whole = replace(augment, crop=replace(augment.crop, k=None), noise=NOISE)
    both = soft_randaugment_entry(soft)
    loss = replace(hard.recipe.loss, soften="both")
    return [
        derive(
            hard,
            "noise",
            "Baseline with additive noise, labels hard",
            augment=replace(augment, noise=NOISE),
        ),
        derive(
            hard,
            "soft-noise",
            "Baseline with additive noise that softens target and weight (k = 1), crops do not",
            augment=whole,
            loss=loss,
        ),
        derive(
            both,
            "soft-noise-randaugment",
            "Soft Augmentation by crop and noise, with RandAugment before them",
            augment=replace(both.recipe.augment, noise=NOISE),
        ),
    ]
