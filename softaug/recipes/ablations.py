"""ResNet-18: what each part of the method does, and where text and release disagree."""

from dataclasses import replace

from softaug.recipes.changes import DECAY, cropped, softened
from softaug.recipes.crops import NormalOffsets, UniformOffsets
from softaug.recipes.entry import Entry, derive
from softaug.recipes.paper_rows import hard_entry, randaugment_entry, soft_entry

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
