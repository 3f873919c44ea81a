"""Rows and study fine-tuning: a network of CIFAR-100 goes on with few images of other classes.

The question and the protocol, written before any test image was measured:
studies/fine_tuning/PROTOCOL.md.
"""

from softaug.lab.recipes.augment import (
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
_COSTS = {
    "cifar10": "about 2 minutes on one CPU core",
    "imagenette": "about 2 minutes on one CPU core",
}


def fine_tuning_entries() -> list[Entry]:
    """Return the hard crop, smoothed labels and the soft crop on both data sets."""
    cifar = _hard_entry(
        DataSpec("cifar10", per_class=500), Augment(crop=UniformOffsets(4)), lr=0.05, epochs=15
    )
    photos = _hard_entry(
        DataSpec("imagenette", per_class=120, size=64),
        Augment(crop=UniformWindows((0.35, 1.0)), order=WINDOWS_FIRST),
        lr=0.05,
        epochs=15,
    )
    return [
        *_with_arms(cifar, NormalOffsets(0.1, 1.0), smoothing=0.1),
        *_with_arms(photos, NormalWindows(0.1, 1.0), smoothing=0.1),
    ]


def _hard_entry(data: DataSpec, augment: Augment, lr: float, epochs: int) -> Entry:
    recipe = Recipe(
        name=row_name(data.name, MODEL, "finetune-hard"),
        model=MODEL,
        data=data,
        augment=augment,
        optim=Optim(lr=lr, warmup_epochs=1.0),
        epochs=epochs,
        batch=32,
        finetune=Finetune(f"{SIBLING}{PRETRAINED}-seed0"),
    )
    about = f"Fine-tuning of the network of {PRETRAINED}: the usual crops"
    return Entry(recipe, about, _COSTS[data.name])


def _with_arms(hard: Entry, crop: Crop, smoothing: float) -> list[Entry]:
    arms: Arms = {
        "finetune-label-smoothing": (
            "hard",
            f"Fine-tuning with labels smoothed by {smoothing:g}",
            {"loss.label_smoothing": smoothing},
        ),
        "finetune-soft": (
            "hard",
            "Fine-tuning with crops that soften the target",
            {"augment.crop": crop, "loss.soften": "target"},
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
