"""Rows of the study where-it-pays: 5,000 images for 400 epochs, until the hard crop knows them all.

The question and the protocol, written before any test image was measured:
studies/where-it-pays/PROTOCOL.md.
"""

from collections.abc import Mapping
from typing import Any

from softaug.lab.recipes.augment import Augment, NormalOffsets, Pace, UniformOffsets
from softaug.lab.recipes.budgets import CLASSES, NUM_IMAGES, budget_name
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Entry, derive, root

MODEL, EPOCHS = "resnet8-s2", 400
MAX_SHIFT = 4  # of the hard crop, in pixels
SOFT_CROP = NormalOffsets(sigma=0.2, k=1.0)
SETTLE = (("crop.sigma", 0.5, 0.05),)  # half of sigma in the last 20 epochs
_TRIVIAL = {"augment.policy": "trivialaugment"}

# What each arm changes in its parent: arm -> (parent, one line about it, changes).
_ARMS: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "label-smoothing": ("hard", "Labels smoothed by 0.1", {"loss.label_smoothing": 0.1}),
    "soft": (
        "hard",
        "Crops of sigma 0.2, k 1, half of sigma in the last 20 epochs; the target softens",
        {"augment.crop": SOFT_CROP, "augment.schedules": SETTLE, "loss.soften": "target"},
    ),
    "hard-far": ("soft", "The crops of the soft arm with hard labels", {"loss.soften": "none"}),
    "paced": (
        "hard",
        "Crops whose sigma follows training (accuracy-hold); the target softens",
        {
            "augment.crop": NormalOffsets(sigma=0.05, k=1.5),
            "augment.pace": Pace("accuracy-hold"),
            "loss.soften": "target",
        },
    ),
    "trivialaugment": ("hard", "TrivialAugment before the hard crop", _TRIVIAL),
    "soft-trivialaugment": ("soft", "TrivialAugment before the soft crop", _TRIVIAL),
}
ARMS = {
    "cifar10": tuple(_ARMS),
    "cifar100": ("label-smoothing", "soft", "soft-trivialaugment"),
}


def arm_name(data: str, arm: str) -> str:
    """Return the name of an arm's recipe.

    >>> arm_name("cifar10", "soft")
    'cifar10-resnet8-s2-5000x400-soft'
    """
    return budget_name(data, EPOCHS, arm, MODEL)


def where_it_pays_entries() -> list[Entry]:
    """Return the hard crop and the other arms of each data set."""
    return [entry for data in ARMS for entry in _entries(data)]


def _entries(data: str) -> list[Entry]:
    recipe = Recipe(
        name=arm_name(data, "hard"),
        model=MODEL,
        data=DataSpec(data, per_class=NUM_IMAGES // CLASSES[data]),
        augment=Augment(crop=UniformOffsets(MAX_SHIFT)),
        optim=Optim(lr=0.1),
        epochs=EPOCHS,
        batch=32,
    )
    about = f"5,000 images, {EPOCHS} epochs: hard crops of up to {MAX_SHIFT} pixels"
    rows = {"hard": root(recipe, about, "34 to 60 minutes on one CPU core")}
    for arm in ARMS[data]:
        parent, line, changes = _ARMS[arm]
        rows[arm] = derive(rows[parent], f"{NUM_IMAGES}x{EPOCHS}-{arm}", line, changes)
    return list(rows.values())
