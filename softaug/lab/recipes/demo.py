"""Rows and study of the demo: 2,000 images of Fashion-MNIST that come with softaug, a minute each.

The hard crop, the soft crop's sigma and k and the smoothing were each chosen on 10,000 other
training images of Fashion-MNIST (studies/demo).
"""

from softaug.lab.recipes.augment import Augment, NormalOffsets, Pace
from softaug.lab.recipes.config import DataSpec, Recipe
from softaug.lab.recipes.paper_numbers import PaperTable, study_rows
from softaug.lab.recipes.rows import Arms, Entry, derive_arms

FAMILY = "fashion-mini-resnet8-tiny"
EPOCHS = 24
_HARD = NormalOffsets(sigma=0.03, k=None, fill="black")
_SOFT = NormalOffsets(sigma=0.05, k=1.0, fill="black")
_FAR = NormalOffsets(sigma=0.3, k=2.0, fill="black")
_TARGET = {"loss.soften": "target"}
_ARMS: Arms = {
    "label-smoothing": (
        "hard",
        "Crops of sigma 0.05 with labels smoothed by 0.05",
        {"augment.crop.sigma": 0.05, "loss.label_smoothing": 0.05},
    ),
    "soft": (
        "hard",
        "Soft crops of sigma 0.05, k 1; the target softens",
        {"augment.crop": _SOFT, **_TARGET},
    ),
    "hard-far": ("hard", "The paper's far crops with hard labels", {"augment.crop": _FAR}),
    "soft-far": ("hard-far", "The paper's far crops; the target softens", _TARGET),
    "paced": ("soft", "Sigma follows training", {"augment.pace": Pace("accuracy-hold")}),
}
_LABELS = {"hard crop": "hard", "soft crop": "soft", "label smoothing": "label-smoothing"}
_MORE_LABELS = {
    "far crop, hard labels": "hard-far",
    "far crop, soft": "soft-far",
    "self-paced crop": "paced",
}


def demo_entries() -> list[Entry]:
    """Return the hard crop and what the demo compares with it."""
    recipe = Recipe(
        name=f"{FAMILY}-hard",
        model="resnet8-tiny",
        data=DataSpec("fashion-mini"),
        augment=Augment(crop=_HARD),
        epochs=EPOCHS,
        batch=32,
    )
    about = "2,000 clothes, 28 x 28: crops of sigma 0.03 with hard labels"
    hard = Entry(recipe, about, "under a minute on one CPU core")
    return [hard, *derive_arms({"hard": hard}, _ARMS).values()]


def demo_study(full: bool = False) -> PaperTable:
    """Return the study of `softaug demo`: `full` has more arms and more seeds."""
    labels = {**_LABELS, **_MORE_LABELS} if full else _LABELS
    recipes = {label: f"{FAMILY}-{arm}" for label, arm in labels.items()}
    return PaperTable(
        "demo",
        "Hard and soft crops of clothes",
        study_rows(f"Fashion-MNIST, 2,000 images, {EPOCHS} epochs", recipes),
        num_seeds=10 if full else 3,
        compare=True,
    )
