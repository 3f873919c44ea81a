"""Rows of the demo: 2,000 images of Fashion-MNIST that come with the package, a minute each.

The hard crop's 1 pixel, the soft crop's sigma and k and the smoothing were chosen on 10,000 other
training images of Fashion-MNIST (studies/demo).
"""

from collections.abc import Mapping
from typing import Any

from softaug.lab.recipes.augment import Augment, NormalOffsets, Pace, UniformOffsets
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Entry, derive, root

_FAR = NormalOffsets(sigma=0.3, k=2.0, fill="black")
_NEAR = NormalOffsets(sigma=0.05, k=1.0, fill="black")
_TARGET = {"loss.soften": "target"}
_ARMS: dict[str, tuple[str, str, Mapping[str, Any]]] = {  # parent, one line, changes
    "label-smoothing": ("hard", "Labels smoothed by 0.1", {"loss.label_smoothing": 0.1}),
    "soft": (
        "hard",
        "Soft crops of sigma 0.05, k 1; the target softens",
        {"augment.crop": _NEAR, **_TARGET},
    ),
    "hard-far": ("hard", "The paper's far crops with hard labels", {"augment.crop": _FAR}),
    "soft-far": ("hard-far", "The paper's far crops; the target softens", _TARGET),
    "paced": ("soft", "Sigma follows training", {"augment.pace": Pace("accuracy-hold")}),
}


def demo_entries() -> list[Entry]:
    """Return the hard crop and what the demo compares with it."""
    recipe = Recipe(
        name="fashion-mini-resnet8-tiny-hard",
        model="resnet8-tiny",
        data=DataSpec("fashion-mini"),
        augment=Augment(crop=UniformOffsets(1, fill="black")),
        optim=Optim(lr=0.1),
        epochs=30,
        batch=32,
    )
    about = "2,000 clothes, 28 x 28: hard crops of up to 1 pixel"
    rows = {"hard": root(recipe, about, "about a minute on one CPU core")}
    for arm, (parent, line, changes) in _ARMS.items():
        rows[arm] = derive(rows[parent], arm, line, changes)
    return list(rows.values())
