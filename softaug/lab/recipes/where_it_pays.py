"""Rows and study where-it-pays: 5,000 images for 400 epochs, until the hard crop knows them all.

The question and the protocol, written before any test image was measured:
studies/where_it_pays/PROTOCOL.md.
"""

from softaug.lab.recipes.augment import NormalOffsets, Pace
from softaug.lab.recipes.budgets import DATA, NUM_IMAGES, budget_name, hard_budget_entry
from softaug.lab.recipes.paper_numbers import PaperRow, PaperTable, study_rows
from softaug.lab.recipes.rows import Arms, Entry, derive_arms

EPOCHS = 400
SETTLE = (("crop.sigma", 0.5, 0.05),)  # half of sigma in the last 20 epochs
_TARGET = {"loss.soften": "target"}
_TRIVIAL = {"augment.policy": "trivialaugment"}
_ARMS: Arms = {
    "label-smoothing": ("hard", "Labels smoothed by 0.1", {"loss.label_smoothing": 0.1}),
    "soft": (
        "hard",
        "Crops of sigma 0.2, k 1, half of sigma in the last 20 epochs; the target softens",
        {"augment.crop": NormalOffsets(0.2, 1.0), "augment.schedules": SETTLE, **_TARGET},
    ),
    "hard-far": ("soft", "The crops of the soft arm with hard labels", {"loss.soften": "none"}),
    "paced": (
        "hard",
        "Crops whose sigma follows training (accuracy-hold); the target softens",
        {
            "augment.crop": NormalOffsets(0.05, 1.5),
            "augment.pace": Pace("accuracy-hold"),
            **_TARGET,
        },
    ),
    "trivialaugment": ("hard", "TrivialAugment before the hard crop", _TRIVIAL),
    "soft-trivialaugment": ("soft", "TrivialAugment before the soft crop", _TRIVIAL),
}
ARMS = {"cifar10": tuple(_ARMS), "cifar100": ("label-smoothing", "soft", "soft-trivialaugment")}
_LABELS = {
    "hard": "hard crop",
    "label-smoothing": "label smoothing",
    "soft": "soft crop",
    "paced": "self-paced crop",
    "trivialaugment": "TrivialAugment",
    "soft-trivialaugment": "TrivialAugment + soft crop",
    "hard-far": "soft arm's crops, hard labels",
}


def where_it_pays_entries() -> list[Entry]:
    """Return the hard crop and the other arms of each data set."""
    rows = []
    for data, arms in ARMS.items():
        hard = hard_budget_entry(data, EPOCHS)
        chosen = {arm: _ARMS[arm] for arm in arms}
        rows += [hard, *derive_arms({"hard": hard}, chosen, f"{NUM_IMAGES}x{EPOCHS}-").values()]
    return rows


def where_it_pays_study() -> PaperTable:
    """Return the study of soft crops after many epochs; three seeds where there are not five."""
    rows: list[PaperRow] = []
    for data, arms in ARMS.items():
        labels = {arm: label for arm, label in _LABELS.items() if arm in ("hard", *arms)}
        recipes = {label: budget_name(data, EPOCHS, arm) for arm, label in labels.items()}
        three = recipes.values() if data == "cifar100" else {budget_name(data, EPOCHS, "hard-far")}
        group = f"{DATA[data]}, 5,000 images, {EPOCHS} epochs"
        rows += study_rows(group, recipes, most_seeds=dict.fromkeys(three, 3))
    title = "Soft crops where the hard crop has memorized"
    return PaperTable("where-it-pays", title, tuple(rows), num_seeds=5, compare=True)
