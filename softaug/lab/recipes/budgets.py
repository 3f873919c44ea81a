"""Small budgets: rows of 5,000 images, small networks and three lengths, and studies of them.

The baseline's batch and learning rate, and the crop's sigma and k, were chosen on held-out
training images (docs/results/evidence.md). Every arm is the baseline plus what it is called after.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Literal

from softaug.lab.recipes.augment import Augment, NormalOffsets, Pace, UniformOffsets
from softaug.lab.recipes.config import DataSpec, Recipe
from softaug.lab.recipes.paper_numbers import (
    HIDDEN,
    PaperCell,
    PaperLine,
    PaperPanel,
    PaperRow,
    PaperTable,
    study_rows,
)
from softaug.lab.recipes.rows import Arm, Arms, Entry, derive_arms, row_name

HARD = "hard"
MODEL, DEEPER, DEEPER_EPOCHS = "resnet8-s2", "resnet20", (15, 40)
NUM_IMAGES = 5000
CLASSES = {"cifar10": 10, "cifar100": 100, "fashion-mnist": 10}
UNSEEN = "fashion-mnist"  # no setting was chosen on it
DATA = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10", UNSEEN: "Fashion-MNIST"}
NETWORKS = {DEEPER: "ResNet-20"}
EPOCHS = (15, 40, 120)
MIDDLE = 40
TUNED = 0.1, 1.0  # sigma, k
PAPER = 0.3, 2.0
SOFT = {"cifar10": ((0.05, 1.0), TUNED, (0.2, 1.0), PAPER), "cifar100": (TUNED, PAPER)}
FIRST = 0.05, 1.5  # sigma and k of what is paced
PACED, PACE = "paced", Pace("accuracy-hold")
OTHER_PACES = {  # beside it, at the middle length
    "paced-confidence-match": Pace("confidence-match", find_k=True),
    "paced-by-class": Pace("accuracy-hold", by="class", least=FIRST[0] / 2),
    "paced-by-sample": Pace("accuracy-hold", by="sample", least=FIRST[0] / 2),
}
# One thread of an AMD EPYC, evaluation included.
_MINUTES = {
    MODEL: {15: "about 2", 40: "about 5", 120: "about 13", 400: "34 to 60"},
    DEEPER: {15: "about 6", 40: "about 14"},
}
POLICIES = {"randaugment": "RandAugment", "trivialaugment": "TrivialAugment"}


def budget_name(data: str, epochs: int, arm: str, model: str = MODEL) -> str:
    """Return the name of the row of an arm.

    >>> budget_name("cifar10", 40, "hard")
    'cifar10-resnet8-s2-5000x40-hard'
    """
    return row_name(data, model, f"{NUM_IMAGES}x{epochs}-{arm}")


def crop_arm(part: str, sigma: float, k: float | None = None) -> str:
    """Return the name of an arm with normal offsets.

    >>> crop_arm("target", 0.1, 1), crop_arm("hard-labels", 0.3)
    ('target-sigma0.1-k1', 'hard-labels-sigma0.3')
    """
    return f"{part}-sigma{sigma:g}" + ("" if k is None else f"-k{k:g}")


def budget_entries() -> list[Entry]:
    """List soft and paced crops beside the baseline at each length; more arms at the middle one."""
    settings = [(data, epochs, MODEL, SOFT[data]) for data in SOFT for epochs in EPOCHS]
    deeper = [(data, epochs, DEEPER, (TUNED, PAPER)) for data in SOFT for epochs in DEEPER_EPOCHS]
    unseen = (UNSEEN, MIDDLE, MODEL, (TUNED, PAPER))
    rows = []
    for data, epochs, model, crops in (*settings, *deeper, unseen):
        hard = hard_budget_entry(data, epochs, model)
        arms = {**dict(_crop_arm(data, "target", *crop) for crop in crops), PACED: _pace(data)}
        more = _middle_arms() if (data, epochs, model) == ("cifar10", MIDDLE, MODEL) else {}
        prefix = f"{NUM_IMAGES}x{epochs}-"
        rows += [hard, *derive_arms({HARD: hard}, {**arms, **more}, prefix).values()]
    return rows


def hard_budget_entry(data: str, epochs: int, model: str = MODEL) -> Entry:
    """Return the baseline of a budget."""
    recipe = Recipe(
        name=budget_name(data, epochs, HARD, model),
        model=model,
        data=DataSpec(data, per_class=NUM_IMAGES // CLASSES[data]),
        augment=Augment(crop=UniformOffsets(4, fill=_fill(data))),
        epochs=epochs,
        batch=32,
    )
    about = f"5,000 images, {epochs} epochs: hard crops of up to 4 pixels"
    return Entry(recipe, about, f"{_MINUTES[model][epochs]} minutes on one CPU core")


def _fill(data: str) -> Literal["data-mean", "black"]:
    """Return the fill: clothes are photographed on black."""
    return "black" if data == UNSEEN else "data-mean"


def _crop_arm(data: str, soften: str, sigma: float, k: float) -> tuple[str, Arm]:
    """Build normal offsets of this spread; the target softens, the weight, or both."""
    about = f"Crops of sigma {sigma:g}, k {k:g}; softened: {soften}"
    crop = NormalOffsets(sigma, k, _fill(data))
    return crop_arm(soften, sigma, k), (HARD, about, {"augment.crop": crop, "loss.soften": soften})


def _pace(data: str, pace: Pace = PACE) -> Arm:
    """Build a near crop; training sets its sigma."""
    by = "" if pace.by == "all" else f", each {pace.by} its own"
    about = f"Crops whose sigma follows training ({pace.rule}{by}); softened: target"
    crop = {"augment.crop": NormalOffsets(*FIRST, _fill(data)), "augment.pace": pace}
    return HARD, about, {**crop, "loss.soften": "target"}


def _middle_arms() -> Arms:
    """List ways to soften the tuned crop and to pace, crops with hard labels, and policies."""
    hard_labels = {
        crop_arm("hard-labels", sigma): (
            HARD,
            f"Crops of sigma {sigma:g} with hard labels",
            {"augment.crop": NormalOffsets(sigma)},
        )
        for sigma in (TUNED[0], PAPER[0])
    }
    weight, both = (_crop_arm("cifar10", soften, *TUNED) for soften in ("weight", "both"))
    released = "Softened: both, each loss by the mean weight of its batch"
    batch_mean = both[0], released, {"loss.weighting": "batch_mean"}
    policies = {
        f"{arm}-{policy}": (arm, f"The same after {policy}", {"augment.policy": policy})
        for policy in POLICIES
        for arm in (HARD, MILD)
    }
    return {
        **hard_labels,
        **dict((weight, both)),
        crop_arm("both-batch-mean", *TUNED): batch_mean,
        **policies,
        **{arm: _pace("cifar10", pace) for arm, pace in OTHER_PACES.items()},
    }


CELLS = (
    PaperCell("error"),
    PaperCell("ece"),
    *(PaperCell("error", f"images {share} % hidden") for share in HIDDEN),
)
MILD, FAR = (crop_arm("target", *crop) for crop in (TUNED, PAPER))
MILD_CROPS = (crop_arm("hard-labels", TUNED[0]), MILD)
FAR_CROPS = (crop_arm("hard-labels", PAPER[0]), FAR)


def studies() -> tuple[PaperTable, ...]:
    """Return our studies of small budgets; studies/ has what came out."""
    return (
        PaperTable(
            "evidence",
            "Soft against hard: CIFAR-10, 5,000 images, 40 epochs",
            _rows("cifar10", MIDDLE, [*MILD_CROPS, crop_arm("both", *TUNED), *FAR_CROPS]),
        ),
        _variants(),
        _budgets(),
        _self_paced(),
        PaperTable(
            "pacing-rules",
            "Rules that pace crops: CIFAR-10, 5,000 images, 40 epochs",
            _rows("cifar10", MIDDLE, [PACED, *OTHER_PACES]),
        ),
    )


def _variants() -> PaperTable:
    """Build the study of other ways to soften, policies, and CIFAR-100."""
    ways = [crop_arm(part, *TUNED) for part in ("weight", "both", "both-batch-mean")]
    rows = [*_rows("cifar10", MIDDLE, [MILD, *ways])]
    for policy, title in POLICIES.items():
        arms = {arm: budget_name("cifar10", MIDDLE, f"{arm}-{policy}") for arm in (HARD, MILD)}
        rows += study_rows(f"CIFAR-10, {MIDDLE} epochs, {title}", arms, CELLS)
    rows += _rows("cifar100", MIDDLE, [MILD, FAR])
    title = "Ways to soften, policies, CIFAR-100: 5,000 images, 40 epochs"
    return PaperTable("variants", title, tuple(rows))


def _budgets() -> PaperTable:
    """Build the study of how far crops may go, by the number of epochs."""
    soft = [crop_arm("target", *crop) for crop in SOFT["cifar10"]]
    rows = {epochs: _rows("cifar10", epochs, soft) for epochs in EPOCHS}
    title = "How far crops may go at a budget: CIFAR-10, 5,000 images"
    return PaperTable("budgets", title, tuple(chain(*rows.values())), panels=_panels(rows))


def _self_paced() -> PaperTable:
    """Build the study of a crop that paces itself beside fixed ones: data, budgets, networks."""
    arms = [MILD, FAR, PACED]
    rows: list[PaperRow] = []
    panels: list[PaperPanel] = []
    for data in SOFT:
        by_epochs = {epochs: _rows(data, epochs, arms) for epochs in EPOCHS}
        rows += chain(*by_epochs.values())
        panels += _panels(by_epochs, f"{DATA[data]}: ")
    for data, epochs in product(SOFT, DEEPER_EPOCHS):
        rows += _rows(data, epochs, arms, DEEPER)
    rows += _rows(UNSEEN, MIDDLE, arms)
    title = "Softness that paces itself: 5,000 images"
    return PaperTable("self-paced", title, tuple(rows), panels=tuple(panels))


def _rows(data: str, epochs: int, arms: Sequence[str], model: str = MODEL) -> tuple[PaperRow, ...]:
    """Return the rows of the baseline and the arms that are compared with it."""
    group = f"{DATA[data]}, {epochs} epochs" + ("" if model == MODEL else f", {NETWORKS[model]}")
    names = {arm: budget_name(data, epochs, arm, model) for arm in (HARD, *arms)}
    return study_rows(group, names, CELLS)


def _panels(rows: Mapping[int, Sequence[PaperRow]], start: str = "") -> tuple[PaperPanel, ...]:
    """Build a plot over epochs for each of three numbers, with a line for each arm."""
    panels = (
        ("Error", "error, %", CELLS[0]),
        ("Calibration", "ECE, %", CELLS[1]),
        ("40 % hidden", "error, 40 % hidden, %", CELLS[3]),
    )
    arms = [[(float(x), row) for row in epoch_rows] for x, epoch_rows in rows.items()]
    return tuple(
        PaperPanel(
            start + title,
            "epochs",
            label,
            tuple(
                PaperLine(points[0][1].label, tuple((x, row, cell) for x, row in points))
                for points in zip(*arms, strict=True)
            ),
        )
        for title, label, cell in panels
    )
