"""Rows and study rivals: each system that the paper compares with, beside the soft crop.

5,000 images of CIFAR-10 for 40 epochs. Batch, learning rate and the soft crop are those of
budgets.py, chosen on held-out images; no rival was tuned, but DUQ has settings for few steps.
"""

from softaug.lab.recipes.budgets import (
    DATA,
    MIDDLE,
    MILD,
    NUM_IMAGES,
    budget_name,
    hard_budget_entry,
)
from softaug.lab.recipes.paper_numbers import PaperTable, study_rows
from softaug.lab.recipes.rows import Entry, derive_arms, read_arms

SET = "cifar10"
_LABELS = {
    "hard crop": "hard",
    "soft crop": MILD,
    "Puzzle Mix": "puzzle-mix",
    "Co-Mixup": "co-mixup",
    "Energy-based": "energy",
    "DUQ": "duq",
    "SNGP": "sngp",
    "DDU": "ddu",
}


def rivals_entries() -> list[Entry]:
    """Return the rivals' rows; the hard crop and the soft crop are those of budgets.py."""
    hard = hard_budget_entry(SET, MIDDLE)
    return list(
        derive_arms({"hard": hard}, read_arms("rivals"), f"{NUM_IMAGES}x{MIDDLE}-").values()
    )


def rivals_study() -> PaperTable:
    """Return the study: error, calibration and occlusion of each system."""
    recipes = {label: budget_name(SET, MIDDLE, arm) for label, arm in _LABELS.items()}
    rows = study_rows(f"{DATA[SET]}, 5,000 images, {MIDDLE} epochs", recipes)
    return PaperTable("rivals", "Systems that the paper compares with", rows, compare=True)
