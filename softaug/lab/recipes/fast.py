"""Rows of the fast network: all of CIFAR's images, in less than two hours of one CPU core.

Settings follow the airbench networks' (arXiv 2404.00498), at half of their batch.
"""

from softaug.lab.recipes.augment import Augment, NormalOffsets, UniformOffsets
from softaug.lab.recipes.config import Compute, DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Arms, Entry, derive_arms, row_name

MODEL = "fastnet"
EPOCHS = {"": 16, "long-": 60}  # by the prefix of an arm
_COSTS = {"": "about 20 minutes", "long-": "about 70 minutes"}
_ARMS: Arms = {
    "label-smoothing": ("hard", "Labels smoothed by 0.2", {"loss.label_smoothing": 0.2}),
    "soft": (
        "hard",
        "Crops of sigma 0.1, k 1, half of sigma in the last 5 % of the epochs; the target softens",
        {
            "augment.crop": NormalOffsets(0.1, 1.0),
            "augment.schedules": (("crop.sigma", 0.5, 0.05),),
            "loss.soften": "target",
        },
    ),
}


def fast_entries() -> list[Entry]:
    """Return hard, smoothed and soft labels on both data sets, at two lengths."""
    rows = []
    for data in ("cifar10", "cifar100"):
        for prefix, epochs in EPOCHS.items():
            recipe = Recipe(
                name=row_name(data, MODEL, f"{prefix}hard"),
                model=MODEL,
                data=DataSpec(data),
                augment=Augment(crop=UniformOffsets(2), alternate_flip=True),
                optim=Optim(lr=0.7, momentum=0.85, weight_decay=1e-3, warmup_epochs=epochs / 8),
                compute=Compute(precision="bfloat16"),
                epochs=epochs,
                batch=500,
            )
            about = f"Fast network, {epochs} epochs: hard crops of up to 2 pixels"
            hard = Entry(recipe, about, f"{_COSTS[prefix]} on one CPU core")
            rows += [hard, *derive_arms({"hard": hard}, _ARMS, prefix).values()]
    return rows


def fast_names(data: str, prefix: str = "") -> dict[str, str]:
    """Return the recipes of one length, by what their arm is called in tables."""
    labels = {"hard": "hard crop", "label-smoothing": "label smoothing", "soft": "soft crop"}
    return {label: row_name(data, MODEL, f"{prefix}{arm}") for arm, label in labels.items()}
