"""ResNet-18: what each part of the method does, and where text and release disagree."""

from dataclasses import replace
from typing import Literal

from softaug.lab.recipes.augment import Cutout, Noise, NormalOffsets, UniformOffsets
from softaug.lab.recipes.cifar import (
    hard_entry,
    randaugment_entry,
    soft_entry,
    soft_randaugment_entry,
)
from softaug.lab.recipes.config import Mix
from softaug.lab.recipes.registry import DECAY, Entry, cropped, derive, softened, with_policy

RELEASE_SIGMA = 0.375  # --crop 12 of 32 pixels in the release's commands
RELEASE_EPOCHS, RELEASE_DECAYED = 501, 21


def ablation_entries() -> list[Entry]:
    """Rows beside the baseline and beside Soft Augmentation, then the release's settings."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    soft10 = soft_entry(hard_entry("cifar10", "resnet18"))
    releases = [_release(soft), _release(soft10)]
    return [*_of_hard(hard), *_of_soft(soft), *_release_parts(soft), *releases]


def _of_hard(hard: Entry) -> list[Entry]:
    recipe = hard.recipe
    return [
        derive(
            hard,
            "label-smoothing",
            "Baseline with label smoothing; alpha 0.1 is ours, the paper states none",
            loss=replace(recipe.loss, label_smoothing=0.1),
        ),
        derive(
            hard,
            "hard-aggressive",
            "Hard crops of up to 16 pixels: 2.19 points worse than the baseline in the paper",
            augment=cropped(recipe, UniformOffsets(16)),
        ),
        derive(
            hard,
            "hard-paper-fill",
            "Baseline with black fill, as in the release, whose soft crops fill with the mean",
            augment=cropped(recipe, UniformOffsets(4, fill="black")),
        ),
        _release_order(randaugment_entry(hard)),
    ]


def _release_order(randaugment: Entry) -> Entry:
    return derive(
        randaugment,
        "randaugment-release-order",
        "RandAugment after flip and crop, as in the release's baseline",
        augment=replace(
            randaugment.recipe.augment, order=("flip", "crop", "policy", "noise", "cutout")
        ),
    )


def _of_soft(soft: Entry) -> list[Entry]:
    recipe = soft.recipe
    return [
        derive(
            soft,
            "hard-normal",
            'The crops of the soft row, decay and all, with hard labels ("hard crop" in Table 6)',
            loss=softened(recipe, "none"),
        ),
        derive(
            soft,
            "soft-target",
            "Only the target softens: about 2 points better than the baseline in the paper's text",
            loss=softened(recipe, "target"),
        ),
        derive(
            soft,
            "soft-weight",
            "Only the weight softens: a curve of the paper's Figure 3, without a number",
            loss=softened(recipe, "weight"),
        ),
        derive(
            soft,
            "soft-no-decay",
            "Soft Augmentation at one sigma to the end",
            augment=replace(recipe.augment, schedules=()),
        ),
        derive(
            soft,
            "soft-black",
            "Soft Augmentation with black fill: with hard-paper-fill, a pair of one fill",
            augment=cropped(recipe, NormalOffsets(sigma=0.3, k=2.0, fill="black")),
        ),
    ]


def _release_parts(soft: Entry) -> list[Entry]:
    return [
        derive(
            soft,
            "soft-release-sigma",
            "The sigma of the release's commands; the paper's text says 0.3",
            augment=cropped(soft.recipe, NormalOffsets(sigma=RELEASE_SIGMA, k=2.0)),
        ),
        derive(
            soft,
            "soft-batch-mean",
            "Weights as the release's code computes them: mean weight times mean loss",
            loss=replace(soft.recipe.loss, weighting="batch_mean"),
        ),
    ]


def _release(soft: Entry) -> Entry:
    """All that the recipe's types can say of the release's soft run.

    Not the release's: it logs the best test epoch, we measure the last; the length of its
    cosine is not known to us.
    """
    setting, factor, _ = DECAY[0]
    augment = cropped(soft.recipe, NormalOffsets(sigma=RELEASE_SIGMA, k=2.0))
    schedule = (setting, factor, RELEASE_DECAYED / RELEASE_EPOCHS)
    return derive(
        soft,
        "soft-release",
        "The release's sigma, weighting, epochs and decay (on either data set); "
        "not its best test epoch: the last is measured",
        augment=replace(augment, schedules=(schedule,)),
        loss=replace(soft.recipe.loss, weighting="batch_mean"),
        epochs=RELEASE_EPOCHS,
    )


SIGMAS = (0.1, 0.2, 0.3, 0.4)
ALPHAS = (0.0, 0.1, 0.2, 0.3)
KS = (1, 2, 3, 4)


def figure3_entries() -> list[Entry]:
    """Normal crops of each sigma: hard and smoothed labels, then what softens, at each k."""
    soft = soft_entry(hard_entry("cifar100", "resnet18"))
    parts: tuple[Literal["target", "weight", "both"], ...] = ("target", "weight", "both")
    smoothed = [_smoothed(soft, alpha, sigma) for alpha in ALPHAS for sigma in SIGMAS]
    return smoothed + [_part(soft, p, k, sigma) for p in parts for k in KS for sigma in SIGMAS]


def _smoothed(soft: Entry, alpha: float, sigma: float) -> Entry:
    loss = replace(softened(soft.recipe, "none"), label_smoothing=alpha)
    crop = NormalOffsets(sigma)
    return derive(
        soft,
        f"figure3-smoothing{alpha:g}-sigma{sigma:g}",
        f"Figure 3, left: crops of sigma {sigma:g}, hard labels smoothed by {alpha:g}",
        augment=cropped(soft.recipe, crop),
        loss=loss,
    )


def _part(soft: Entry, part: Literal["target", "weight", "both"], k: int, sigma: float) -> Entry:
    words = "target and weight soften" if part == "both" else f"the {part} softens"
    return derive(
        soft,
        f"figure3-{part}-k{k}-sigma{sigma:g}",
        f"Figure 3: crops of sigma {sigma:g}, {words} with k = {k}",
        augment=cropped(soft.recipe, NormalOffsets(sigma, float(k))),
        loss=softened(soft.recipe, part),
    )


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
