"""ResNet-18: what each part does, other methods, and where text and release disagree."""

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


def ablation_entries() -> list[Entry]:
    """Rows beside the baseline and beside Soft Augmentation, then the release's settings."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    soft10 = soft_entry(hard_entry("cifar10", "resnet18"))
    return [*_of_hard(hard), *_of_soft(soft), _release(soft), _release(soft10)]


def _of_hard(hard: Entry) -> list[Entry]:
    randaugment = randaugment_entry(hard)
    return [
        derive(
            hard,
            "label-smoothing",
            "Baseline with label smoothing; alpha 0.1 is ours, the paper states none",
            {"loss.label_smoothing": 0.1},
        ),
        derive(
            hard,
            "hard-aggressive",
            "Hard crops of up to 16 pixels: 2.19 points worse than the baseline in the paper",
            {"augment.crop.max_shift": 16},
        ),
        derive(
            hard,
            "hard-paper-fill",
            "Baseline with black fill, as in the release, whose soft crops fill with the mean",
            {"augment.crop.fill": "black"},
        ),
        derive(
            randaugment,
            "randaugment-release-order",
            "RandAugment after flip and crop, as in the release's baseline",
            {"augment.order": ("flip", "crop", "policy", "noise", "cutout")},
        ),
    ]


def _of_soft(soft: Entry) -> list[Entry]:
    return [
        derive(
            soft,
            "hard-normal",
            'The crops of the soft row, decay and all, with hard labels ("hard crop" in Table 6)',
            {"loss.soften": "none"},
        ),
        derive(
            soft,
            "soft-target",
            "Only the target softens: about 2 points better than the baseline in the paper's text",
            {"loss.soften": "target"},
        ),
        derive(
            soft,
            "soft-weight",
            "Only the weight softens: a curve of the paper's Figure 3, without a number",
            {"loss.soften": "weight"},
        ),
        derive(
            soft,
            "soft-no-decay",
            "Soft Augmentation at one sigma to the end",
            {"augment.schedules": ()},
        ),
        derive(
            soft,
            "soft-black",
            "Soft Augmentation with black fill: with hard-paper-fill, a pair of one fill",
            {"augment.crop.fill": "black"},
        ),
        derive(
            soft,
            "soft-release-sigma",
            "The sigma of the release's commands; the paper's text says 0.3",
            {"augment.crop.sigma": RELEASE_SIGMA},
        ),
        derive(
            soft,
            "soft-batch-mean",
            "Weights as the release's code computes them: mean weight times mean loss",
            {"loss.weighting": "batch_mean"},
        ),
    ]


def _release(soft: Entry) -> Entry:
    """All that the recipe's types can say of the release's soft run.

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
    """Normal crops of each sigma: hard and smoothed labels, then what softens, at each k."""
    soft = soft_entry(hard_entry("cifar100", "resnet18"))
    parts: tuple[Literal["target", "weight", "both"], ...] = ("target", "weight", "both")
    smoothed = [_smoothed(soft, alpha, sigma) for alpha in ALPHAS for sigma in SIGMAS]
    return smoothed + [_part(soft, p, k, sigma) for p in parts for k in KS for sigma in SIGMAS]


def _smoothed(soft: Entry, alpha: float, sigma: float) -> Entry:
    labels = {"loss.soften": "none", "loss.label_smoothing": alpha}
    return derive(
        soft,
        f"figure3-smoothing{alpha:g}-sigma{sigma:g}",
        f"Figure 3, left: crops of sigma {sigma:g}, hard labels smoothed by {alpha:g}",
        {"augment.crop": NormalOffsets(sigma), **labels},
    )


def _part(soft: Entry, part: Literal["target", "weight", "both"], k: int, sigma: float) -> Entry:
    words = "target and weight soften" if part == "both" else f"the {part} softens"
    return derive(
        soft,
        f"figure3-{part}-k{k}-sigma{sigma:g}",
        f"Figure 3: crops of sigma {sigma:g}, {words} with k = {k}",
        {"augment.crop": NormalOffsets(sigma, float(k)), "loss.soften": part},
    )


def rival_entries() -> list[Entry]:
    """Other methods: each is the baseline, or Soft Augmentation, plus what its name says."""
    hard = hard_entry("cifar100", "resnet18")
    soft = soft_entry(hard)
    both = soft_randaugment_entry(soft)
    noise = {"augment.noise.sigma": 0.1}
    soft_noise = {**noise, "augment.crop.k": None, "loss.soften": "both"}
    rows: list[tuple[Entry, str, str, dict[str, Any]]] = [
        (hard, "mixup", "Baseline with Mixup: images are blended", {"mix.kind": "mixup"}),
        (
            hard,
            "cutmix",
            "Baseline with CutMix: a box of another image is pasted; not in the paper",
            {"mix.kind": "cutmix"},
        ),
        (
            hard,
            "manifold-mixup",
            "Baseline with Manifold Mixup: what a layer makes of images is blended; "
            "the paper only quotes others' numbers",
            {"mix.kind": "manifold-mixup"},
        ),
        (
            soft,
            "soft-mixup",
            "Soft Augmentation, then Mixup of the soft labels; not in the paper",
            {"mix.kind": "mixup"},
        ),
        (
            hard,
            "cutout",
            "Baseline with Cutout: a square of 8 pixels is erased",
            {"augment.cutout.length": 8},
        ),
        (
            hard,
            "online-label-smoothing",
            "Baseline with online label smoothing, half of each label; share 0.5 is its authors'",
            {"loss.online_smoothing": 0.5},
        ),
        *[
            (
                hard,
                f"focal-gamma{gamma}",
                f"Baseline with focal loss, gamma {gamma} (which the paper calls alpha)",
                {"loss.focal_gamma": float(gamma)},
            )
            for gamma in FOCAL_GAMMAS
        ],
        (
            hard,
            "autoaugment",
            "Baseline with AutoAugment's CIFAR policy before the crop; not in the paper",
            {"augment.policy": "autoaugment"},
        ),
        (
            soft,
            "soft-policy",
            "Soft Augmentation with a TrivialAugment that softens too, by fitted curves",
            {"augment.policy": "trivialaugment", "augment.curves": "cifar100"},
        ),
        (
            soft,
            "soft-policy-naive",
            "Soft Augmentation with a TrivialAugment that softens too, by unfitted curves",
            {"augment.policy": "trivialaugment", "augment.curves": "naive"},
        ),
        (hard, "noise", "Baseline with additive noise, labels hard", noise),
        (
            hard,
            "soft-noise",
            "Baseline with additive noise that softens target and weight (k = 1), crops do not",
            soft_noise,
        ),
        (
            both,
            "soft-noise-randaugment",
            "Soft Augmentation by crop and noise, with RandAugment before them",
            noise,
        ),
    ]
    return [derive(*row) for row in rows]
