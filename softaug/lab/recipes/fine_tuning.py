"""Rows and study fine-tuning: a network of CIFAR-100 goes on with few images of other classes.

The question and the protocol, written before any test image was measured:
studies/fine_tuning/PROTOCOL.md.
"""

from softaug.lab.recipes.augment import (
    STEPS,
    WINDOWS_FIRST,
    Augment,
    Crop,
    NormalOffsets,
    NormalWindows,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.config import SIBLING, DataSpec, Finetune, Optim, Recipe
from softaug.lab.recipes.paper_numbers import PaperRow, PaperTable, study_rows
from softaug.lab.recipes.rows import Arms, Entry, derive_arms, row_name

MODEL = "resnet8-s2"
PRETRAINED = "cifar100-resnet8-s2-hard"  # its run of seed 0 is what all arms begin from
GROUPS = {
    "cifar10": "CIFAR-10, 5,000 images, 15 epochs",
    "imagenette": "Imagenette, 1,200 images, 15 epochs",
}
LABELS = {
    "finetune-hard": "hard crop",
    "finetune-label-smoothing": "label smoothing",
    "finetune-soft": "soft crop",
}
_COST = "about 2 minutes on one CPU core"
# Chosen on held-out training images (studies/fine_tuning): learning rate and strength of each arm.
_HARD: dict[str, tuple[float, Crop]] = {
    "cifar10": (0.05, UniformOffsets(4)),
    "imagenette": (0.05, UniformWindows((0.35, 1.0))),
}
_SMOOTHING = {"cifar10": (0.05, 0.1), "imagenette": (0.05, 0.1)}
_SOFT: dict[str, tuple[float, Crop]] = {
    "cifar10": (0.05, NormalOffsets(0.1, 1.0)),
    "imagenette": (0.05, NormalWindows(0.1, 1.0)),
}


def fine_tuning_entries() -> list[Entry]:
    """Return the hard crop, smoothed labels and the soft crop on both data sets."""
    data = DataSpec("cifar10", per_class=500), DataSpec("imagenette", per_class=120, size=64)
    return [row for spec in data for row in _rows(spec)]


def _rows(data: DataSpec) -> list[Entry]:
    lr, crop = _HARD[data.name]
    in_files = isinstance(crop, UniformWindows)
    recipe = Recipe(
        name=row_name(data.name, MODEL, "finetune-hard"),
        model=MODEL,
        data=data,
        augment=Augment(crop=crop, order=WINDOWS_FIRST if in_files else STEPS),
        optim=Optim(lr=lr, warmup_epochs=1.0),
        epochs=15,
        batch=32,
        finetune=Finetune(f"{SIBLING}{PRETRAINED}-seed0"),
    )
    hard = Entry(recipe, f"Fine-tuning of the network of {PRETRAINED}: the usual crops", _COST)
    (smooth_lr, alpha), (soft_lr, soft_crop) = _SMOOTHING[data.name], _SOFT[data.name]
    arms: Arms = {
        "finetune-label-smoothing": (
            "hard",
            f"Fine-tuning with labels smoothed by {alpha:g}",
            {"optim.lr": smooth_lr, "loss.label_smoothing": alpha},
        ),
        "finetune-soft": (
            "hard",
            "Fine-tuning with crops that soften the target",
            {"optim.lr": soft_lr, "augment.crop": soft_crop, "loss.soften": "target"},
        ),
    }
    return [hard, *derive_arms({"hard": hard}, arms).values()]


def fine_tuning_study() -> PaperTable:
    """Return the study: the network that all begin from, then three arms on each data set."""
    before = study_rows("before", {"CIFAR-100": PRETRAINED}, most_seeds={PRETRAINED: 1})
    rows: list[PaperRow] = [*before]
    for data, group in GROUPS.items():
        rows += study_rows(
            group, {label: row_name(data, MODEL, arm) for arm, label in LABELS.items()}
        )
    title = "Fine-tuning: hard labels, smoothed labels, soft crops"
    return PaperTable("fine-tuning", title, tuple(rows), num_seeds=5, compare=True)
