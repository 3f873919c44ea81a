"""Rows and study by-class: Eq. 11 in full, and where a soft target's remaining mass goes.

On the images of the demo, with the paper's far crop, whose labels soften most. What the classes
have of their own was measured by `softaug curves` on 600 held-out training images with one
network trained on far crops with hard labels.
"""

from softaug.lab.recipes.demo import FAMILY, demo_entries
from softaug.lab.recipes.paper_numbers import PaperTable, study_rows
from softaug.lab.recipes.rows import Arms, Entry, derive_arms

# Of T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot: the
# fitted k of each class over their geometric mean, 0.48.
K_FACTORS = (1.94, 0.77, 2.42, 0.59, 0.58, 0.75, 0.96, 0.76, 1.46, 1.01)
# Their square roots: classes that keep more of their label are cropped farther.
SIGMA_FACTORS = (1.39, 0.88, 1.55, 0.77, 0.76, 0.87, 0.98, 0.87, 1.21, 1.0)
PARENT = "soft-far"
_ARMS: Arms = {
    "class-k": (
        PARENT,
        "Far crops, a k of its own for each class",
        {"augment.factors.k": K_FACTORS},
    ),
    "class-sigma": (
        PARENT,
        "Far crops, a sigma of its own for each class",
        {"augment.factors.sigma": SIGMA_FACTORS},
    ),
    "confusion-prior": (
        PARENT,
        "Far crops; the rest of a target goes to what the class is taken for",
        {"loss.prior": "confusion"},
    ),
}


def by_class_entries() -> list[Entry]:
    """Return the far crop with k, sigma or prior by class."""
    parent = {PARENT: next(row for row in demo_entries() if row.recipe.name.endswith(PARENT))}
    return list(derive_arms(parent, _ARMS).values())


def by_class_study() -> PaperTable:
    """Return the study: each arm beside the far crop that treats all classes alike."""
    labels = {
        "all classes alike": PARENT,
        "k by class": "class-k",
        "sigma by class": "class-sigma",
        "prior by confusion": "confusion-prior",
    }
    recipes = {label: f"{FAMILY}-{arm}" for label, arm in labels.items()}
    rows = study_rows("Fashion-MNIST, 2,000 images, 30 epochs, far crops", recipes)
    return PaperTable("by-class", "Softness by class (Eq. 11)", rows, compare=True)
