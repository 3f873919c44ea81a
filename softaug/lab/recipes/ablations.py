"""ResNet-18: what each part does, other methods, and where text and release disagree."""

from collections.abc import Mapping
from typing import Any, Literal

from softaug.lab.recipes.augment import NormalOffsets
from softaug.lab.recipes.cifar import (
    DECAY,
    hard_entry,
    randaugment_entry,
    soft_entry,
    soft_randaugment_entry,
)
from softaug.lab.recipes.rows import Entry, derive

RELEASE_SIGMA = 0.375  # --crop 12 of 32 pixels in the release's commands
RELEASE_EPOCHS, RELEASE_DECAYED = 501, 21
SIGMAS = (0.1, 0.2, 0.3, 0.4)
ALPHAS = (0.0, 0.1, 0.2, 0.3)
KS = (1, 2, 3, 4)
FOCAL_GAMMAS = (1, 2, 5)
Arms = Mapping[str, tuple[Entry, str, dict[str, Any]]]
"""by arm: its parent, what it is, and the settings that it changes"""


def _derive_all(arms: Arms) -> list[Entry]:
    return [derive(parent, arm, about, changed) for arm, (parent, about, changed) in arms.items()]


def ablation_entries() -> list[Entry]:
    """Return rows beside the baseline and beside Soft Augmentation, and the release's settings."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    arms: Arms = {
        "label-smoothing": (
            hard,
            "Baseline with label smoothing; alpha 0.1 is ours, the paper states none",
            {"loss.label_smoothing": 0.1},
        ),
        "hard-aggressive": (
            hard,
            "Hard crops of up to 16 pixels: 2.19 points worse than the baseline in the paper",
            {"augment.crop.max_shift": 16},
        ),
        "hard-paper-fill": (
            hard,
            "Baseline with black fill, as in the release, whose soft crops fill with the mean",
            {"augment.crop.fill": "black"},
        ),
        "randaugment-release-order": (
            randaugment_entry(hard),
            "RandAugment after flip and crop, as in the release's baseline",
            {"augment.order": ("flip", "crop", "policy", "noise", "cutout")},
        ),
        "hard-normal": (
            soft,
            'The crops of the soft row, decay and all, with hard labels ("hard crop" in Table 6)',
            {"loss.soften": "none"},
        ),
        "soft-target": (
            soft,
            "Only the target softens: about 2 points better than the baseline in the paper's text",
            {"loss.soften": "target"},
        ),
        "soft-weight": (
            soft,
            "Only the weight softens: a curve of the paper's Figure 3, without a number",
            {"loss.soften": "weight"},
        ),
        "soft-no-decay": (
            soft,
            "Soft Augmentation at one sigma to the end",
            {"augment.schedules": ()},
        ),
        "soft-black": (
            soft,
            "Soft Augmentation with black fill: with hard-paper-fill, a pair of one fill",
            {"augment.crop.fill": "black"},
        ),
        "soft-release-sigma": (
            soft,
            "The sigma of the release's commands; the paper's text says 0.3",
            {"augment.crop.sigma": RELEASE_SIGMA},
        ),
        "soft-batch-mean": (
            soft,
            "Weights as the release's code computes them: mean weight times mean loss",
            {"loss.weighting": "batch_mean"},
        ),
    }
    soft10 = soft_entry(hard_entry("cifar10", "resnet18"))
    return [*_derive_all(arms), _release(soft), _release(soft10)]


def _release(soft: Entry) -> Entry:
    """Return all that the recipe's types can say of the release's soft run.

    Not the release's: it logs the best test epoch, we measure the last; the length of its
    cosine is not known to us.
    """
    setting, factor, _ = DECAY[0]
    return derive(
        soft,
        "soft-release",
        "The release's sigma, weighting, epochs and decay (on either data set); "
        "not its best test epoch: the last is measured",
        {
            "augment.crop.sigma": RELEASE_SIGMA,
            "augment.schedules": ((setting, factor, RELEASE_DECAYED / RELEASE_EPOCHS),),
            "loss.weighting": "batch_mean",
            "epochs": RELEASE_EPOCHS,
        },
    )


def figure3_entries() -> list[Entry]:
    """Return normal crops of each sigma: hard and smoothed labels, then what softens, at each k."""
    soft = soft_entry(hard_entry("cifar100", "resnet18"))
    arms: dict[str, tuple[Entry, str, dict[str, Any]]] = {}
    for alpha in ALPHAS:
        for sigma in SIGMAS:
            arms[f"figure3-smoothing{alpha:g}-sigma{sigma:g}"] = (
                soft,
                f"Figure 3, left: crops of sigma {sigma:g}, hard labels smoothed by {alpha:g}",
                {
                    "augment.crop": NormalOffsets(sigma),
                    "loss.soften": "none",
                    "loss.label_smoothing": alpha,
                },
            )
    parts: tuple[Literal["target", "weight", "both"], ...] = ("target", "weight", "both")
    for part in parts:
        words = "target and weight soften" if part == "both" else f"the {part} softens"
        for k in KS:
            for sigma in SIGMAS:
                arms[f"figure3-{part}-k{k}-sigma{sigma:g}"] = (
                    soft,
                    f"Figure 3: crops of sigma {sigma:g}, {words} with k = {k}",
                    {"augment.crop": NormalOffsets(sigma, float(k)), "loss.soften": part},
                )
    return _derive_all(arms)


def rival_entries() -> list[Entry]:
    """Return other methods: each is the baseline, or Soft Augmentation, plus what its name says."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    noise = {"augment.noise.sigma": 0.1}
    trivial = {"augment.policy": "trivialaugment"}
    arms: Arms = {
        "mixup": (hard, "Baseline with Mixup: images are blended", {"mix.kind": "mixup"}),
        "cutmix": (
            hard,
            "Baseline with CutMix: a box of another image is pasted; not in the paper",
            {"mix.kind": "cutmix"},
        ),
        "manifold-mixup": (
            hard,
            "Baseline with Manifold Mixup: what a layer makes of images is blended; "
            "the paper only quotes others' numbers",
            {"mix.kind": "manifold-mixup"},
        ),
        "soft-mixup": (
            soft,
            "Soft Augmentation, then Mixup of the soft labels; not in the paper",
            {"mix.kind": "mixup"},
        ),
        "cutout": (
            hard,
            "Baseline with Cutout: a square of 8 pixels is erased",
            {"augment.cutout.length": 8},
        ),
        "online-label-smoothing": (
            hard,
            "Baseline with online label smoothing, half of each label; share 0.5 is its authors'",
            {"loss.online_smoothing": 0.5},
        ),
        **{
            f"focal-gamma{gamma}": (
                hard,
                f"Baseline with focal loss, gamma {gamma} (which the paper calls alpha)",
                {"loss.focal_gamma": float(gamma)},
            )
            for gamma in FOCAL_GAMMAS
        },
        "autoaugment": (
            hard,
            "Baseline with AutoAugment's CIFAR policy before the crop; not in the paper",
            {"augment.policy": "autoaugment"},
        ),
        "soft-policy": (
            soft,
            "Soft Augmentation with a TrivialAugment that softens too, by fitted curves",
            {**trivial, "augment.curves": "cifar100"},
        ),
        "soft-policy-naive": (
            soft,
            "Soft Augmentation with a TrivialAugment that softens too, by unfitted curves",
            {**trivial, "augment.curves": "naive"},
        ),
        "noise": (hard, "Baseline with additive noise, labels hard", noise),
        "soft-noise": (
            hard,
            "Baseline with additive noise that softens target and weight (k = 1), crops do not",
            {**noise, "augment.crop.k": None, "loss.soften": "both"},
        ),
        "soft-noise-randaugment": (
            soft_randaugment_entry(soft),
            "Soft Augmentation by crop and noise, with RandAugment before them",
            noise,
        ),
    }
    return _derive_all(arms)
