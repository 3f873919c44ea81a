"""Rows and studies of where soft crops pay: after many epochs, in the last ones, for each image.

Questions and protocol, written before any test image was measured:
studies/where_it_pays/PROTOCOL.md.
"""

from softaug.lab.recipes.augment import Erase, NormalOffsets, Pace, SigmaLaw, UniformOffsets
from softaug.lab.recipes.budgets import DATA, NUM_IMAGES, budget_name, hard_budget_entry
from softaug.lab.recipes.fast import fast_names
from softaug.lab.recipes.paper_numbers import PaperRow, PaperTable, study_rows
from softaug.lab.recipes.rows import Arm, Arms, Entry, derive_arms

EPOCHS = 400
HELD_OUT = 10_000  # training images on which the tail and the laws are measured
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
    "maxsup": ("hard", "MaxSup 0.1 with the hard crop", {"loss.max_suppression": 0.1}),
    "soft-erase": (
        "soft",
        "Half of the images also lose a rectangle after the soft crop, which softens further",
        {"augment.erase": Erase(0.5, k=1.0)},
    ),
    "hard-3px": ("hard", "Hard crops of up to 3 pixels", {"augment.crop": UniformOffsets(3)}),
    "hard-6px": ("hard", "Hard crops of up to 6 pixels", {"augment.crop": UniformOffsets(6)}),
    "label-smoothing0.2": ("hard", "Labels smoothed by 0.2", {"loss.label_smoothing": 0.2}),
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
    "maxsup": "MaxSup",
    "soft-erase": "soft crop + soft erasing",
    "hard-3px": "hard crop, 3 px",
    "hard-6px": "hard crop, 6 px",
    "label-smoothing0.2": "label smoothing 0.2",
}
_THREE_SEEDS = ("hard-far", "maxsup", "soft-erase", "hard-3px", "hard-6px", "label-smoothing0.2")


def _settle(factor: float) -> dict[str, tuple[tuple[str, float, float], ...]]:
    return {"augment.schedules": (("crop.sigma", factor, 0.05),)}


_STATISTICS = {"augment.batchnorm_sigma": 0.1}
TAIL_EPOCHS = 120
_FAR: Arm = (
    "hard",
    "Crops of sigma 0.2, k 1, to the end; the target softens",
    {"augment.crop": NormalOffsets(0.2, 1.0), **_TARGET},
)
_TAIL: Arms = {
    "tail-none": _FAR,
    "tail-settle0": ("tail-none", "Whole images in the last 6 epochs", _settle(0.0)),
    "tail-settle-half": ("tail-none", "Half of sigma in the last 6 epochs", _settle(0.5)),
    "tail-statistics": ("tail-none", "BatchNorm statistics of sigma 0.1 at the end", _STATISTICS),
    "tail-both": ("tail-settle-half", "Half of sigma, then statistics of 0.1", _STATISTICS),
}
LAW_EPOCHS = 40


def _law(about: str, sigma: float, law: SigmaLaw | None = None, views: int = 1) -> Arm:
    """Draw sigma by a law, with the paper's k where crops are as far as the paper's."""
    crop = NormalOffsets(sigma, 2.0 if sigma >= 0.3 else 1.0)
    changes = {"augment.crop": crop, "augment.law": law or SigmaLaw(), "augment.views": views}
    return "hard", f"{about}; the target softens", {**changes, **_TARGET}


_LAWS: Arms = {
    "law-fixed0.1": _law("Sigma 0.1 for every image", 0.1),
    "law-fixed0.2": _law("Sigma 0.2 for every image", 0.2),
    "law-fixed0.3": _law("Sigma 0.3 for every image", 0.3),
    "law-uniform0.3": _law("Sigma uniform up to 0.3", 0.3, SigmaLaw("uniform")),
    "law-quarter-far": _law("Sigma 0.3 for a quarter, else 0.06", 0.3, SigmaLaw("mixture", 0.25)),
    "law-half-far": _law("Sigma 0.3 for half, else 0.06", 0.3, SigmaLaw("mixture")),
    "law-two-views": _law("Two views of an image: 0.3 and 0.06", 0.3, SigmaLaw("mixture"), 2),
}


def where_it_pays_entries() -> list[Entry]:
    """Return the hard crop and the other arms of each data set, then of the tail and the laws."""
    rows = []
    for data, arms in ARMS.items():
        hard = hard_budget_entry(data, EPOCHS)
        chosen = {arm: _ARMS[arm] for arm in arms}
        rows += [hard, *derive_arms({"hard": hard}, chosen, f"{NUM_IMAGES}x{EPOCHS}-").values()]
    for epochs, others in ((TAIL_EPOCHS, _TAIL), (LAW_EPOCHS, _LAWS)):
        rows += _held_out_entries(epochs, others)
    return rows


def _held_out_entries(epochs: int, arms: Arms) -> list[Entry]:
    """Return the hard crop of a budget, with training images held out, and its arms."""
    prefix, hold = f"{NUM_IMAGES}x{epochs}-", {"data.validation": HELD_OUT}
    about = f"Hard crop, measured on {HELD_OUT:,} training images that are held out"
    base = {"hard": hard_budget_entry("cifar10", epochs)}
    hard = derive_arms(base, {"held-out-hard": ("hard", about, hold)}, prefix)["held-out-hard"]
    return [hard, *derive_arms({"hard": hard}, arms, prefix).values()]


def where_it_pays_studies() -> tuple[PaperTable, ...]:
    """Return the studies of many epochs, of the last epochs, of each image, of all images."""
    return (
        _many_epochs(),
        _held_out("tail", "The last epochs of a soft crop", TAIL_EPOCHS, _TAIL),
        _held_out("sigma-laws", "Strengths for each image", LAW_EPOCHS, _LAWS),
        _fast(),
    )


def _many_epochs() -> PaperTable:
    """Soft crops after many epochs; three seeds where there are not five."""
    rows: list[PaperRow] = []
    for data, arms in ARMS.items():
        labels = {arm: label for arm, label in _LABELS.items() if arm in ("hard", *arms)}
        recipes = {label: budget_name(data, EPOCHS, arm) for arm, label in labels.items()}
        few = labels if data == "cifar100" else _THREE_SEEDS
        most = {budget_name(data, EPOCHS, arm): 3 for arm in few}
        rows += study_rows(f"{DATA[data]}, 5,000 images, {EPOCHS} epochs", recipes, most_seeds=most)
    title = "Soft crops where the hard crop has memorized"
    return PaperTable("where-it-pays", title, tuple(rows), num_seeds=5, compare=True)


def _held_out(name: str, title: str, epochs: int, arms: Arms) -> PaperTable:
    """Arms measured on training images that were held out, so that the best can be chosen."""
    group = f"CIFAR-10, 5,000 images, {epochs} epochs, held-out images"
    labels = {"hard crop": "held-out-hard"} | {arms[arm][1].split(";")[0]: arm for arm in arms}
    recipes = {label: budget_name("cifar10", epochs, arm) for label, arm in labels.items()}
    return PaperTable(name, title, study_rows(group, recipes), compare=True)


def _fast() -> PaperTable:
    """Soft crops on all images of CIFAR, with the fast network."""
    rows: list[PaperRow] = []
    for data in ("cifar100", "cifar10"):
        rows += study_rows(f"{DATA[data]}, all images, 60 epochs", fast_names(data, "long-"))
    title = "Soft crops on all of CIFAR, with a fast network"
    return PaperTable("fast-cifar", title, tuple(rows), compare=True)
