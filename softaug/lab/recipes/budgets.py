"""Small budgets: rows of 5,000 images, small networks and three lengths, and studies of them.

The baseline's batch and learning rate, and the crop's sigma and k, were chosen on held-out
training images (docs/results/evidence.md). Every arm is the baseline plus what it is called after.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from softaug.lab.recipes.augment import Augment, NormalOffsets, Pace, UniformOffsets
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.paper_numbers import (
    HIDDEN,
    PaperCell,
    PaperFigure,
    PaperLine,
    PaperPanel,
    PaperRow,
    PaperTable,
)
from softaug.lab.recipes.rows import Entry, derive, root, row_name

MODEL, DEEPER, DEEPER_EPOCHS = "resnet8-s2", "resnet20", (15, 40)
NUM_IMAGES = 5000
CLASSES = {"cifar10": 10, "cifar100": 100, "fashion-mnist": 10}
UNSEEN = "fashion-mnist"  # no setting was chosen on it
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
_MINUTES = {MODEL: {15: 2, 40: 5, 120: 13}, DEEPER: {15: 6, 40: 14}}
POLICIES = {"randaugment": "RandAugment", "trivialaugment": "TrivialAugment"}


def budget_name(data: str, epochs: int, arm: str, model: str = MODEL) -> str:
    """What the row of an arm is called.

    >>> budget_name("cifar10", 40, "hard")
    'cifar10-resnet8-s2-5000x40-hard'
    """
    return row_name(data, model, f"{NUM_IMAGES}x{epochs}-{arm}")


def crop_arm(words: str, sigma: float, k: float | None = None) -> str:
    """What an arm with normal offsets is called.

    >>> crop_arm("target", 0.1, 1), crop_arm("hard-labels", 0.3)
    ('target-sigma0.1-k1', 'hard-labels-sigma0.3')
    """
    return f"{words}-sigma{sigma:g}" + ("" if k is None else f"-k{k:g}")


def budget_entries() -> list[Entry]:
    """Soft and paced crops beside the baseline at each length; more arms at the middle one."""
    baselines = [_hard(data, epochs) for data in SOFT for epochs in EPOCHS]
    deeper = [_hard(data, epochs, DEEPER) for data in SOFT for epochs in DEEPER_EPOCHS]
    unseen = _hard(UNSEEN, MIDDLE)
    return [
        *[row for hard in baselines for row in _beside_hard(hard, SOFT[hard.recipe.data.name])],
        *_middle_arms(_hard("cifar10", MIDDLE)),
        *[row for hard in (*deeper, unseen) for row in _beside_hard(hard, (TUNED, PAPER))],
    ]


def _beside_hard(hard: Entry, crops: Sequence[tuple[float, float]]) -> list[Entry]:
    """The baseline, soft crops, and one that paces itself."""
    return [hard, *[_crop(hard, "target", *crop) for crop in crops], _paced(hard)]


def _hard(data: str, epochs: int, model: str = MODEL) -> Entry:
    recipe = Recipe(
        name=budget_name(data, epochs, "hard", model),
        model=model,
        data=DataSpec(data, per_class=NUM_IMAGES // CLASSES[data]),
        augment=Augment(crop=UniformOffsets(4, fill=_fill(data))),
        optim=Optim(lr=0.1),
        epochs=epochs,
        batch=32,
    )
    about = f"5,000 images, {epochs} epochs: hard crops of up to 4 pixels"
    return root(recipe, about, f"about {_MINUTES[model][epochs]} minutes on one CPU core")


def _fill(data: str) -> Literal["data-mean", "black"]:
    """Clothes are photographed on black."""
    return "black" if data == UNSEEN else "data-mean"


def _normal(hard: Entry, sigma: float, k: float) -> NormalOffsets:
    """Offsets of this spread, with the baseline's fill."""
    return NormalOffsets(sigma=sigma, k=k, fill=_fill(hard.recipe.data.name))


def _paced(hard: Entry, arm: str = PACED, pace: Pace = PACE) -> Entry:
    """A near crop at first; then training sets its sigma."""
    by = "" if pace.by == "all" else f", each {pace.by} its own"
    about = f"Crops whose sigma follows training ({pace.rule}{by}); softened: target"
    crop = {"augment.crop": _normal(hard, *FIRST), "augment.pace": pace}
    return _arm(hard, arm, about, {**crop, "loss.soften": "target"})


def _arm(parent: Entry, arm: str, about: str, changes: Mapping[str, Any]) -> Entry:
    return derive(parent, f"{NUM_IMAGES}x{parent.recipe.epochs}-{arm}", about, changes)


def _crop(hard: Entry, soften: str, sigma: float, k: float) -> Entry:
    """Normal offsets of this spread; the target softens, the weight, or both."""
    about = f"Crops of sigma {sigma:g}, k {k:g}; softened: {soften}"
    changes = {"augment.crop": _normal(hard, sigma, k), "loss.soften": soften}
    return _arm(hard, crop_arm(soften, sigma, k), about, changes)


def _hard_labels(hard: Entry, sigma: float) -> Entry:
    about = f"Crops of sigma {sigma:g} with hard labels"
    arm = crop_arm("hard-labels", sigma)
    return _arm(hard, arm, about, {"augment.crop": NormalOffsets(sigma=sigma)})


def _middle_arms(hard: Entry) -> list[Entry]:
    """Other ways to soften the tuned crop and to pace, crops with hard labels, and policies."""
    soft, both = _crop(hard, "target", *TUNED), _crop(hard, "both", *TUNED)
    as_released = crop_arm("both-batch-mean", *TUNED)
    about = "Softened: both, each loss by the mean weight of its batch"
    return [
        *[_hard_labels(hard, sigma) for sigma in (TUNED[0], PAPER[0])],
        _crop(hard, "weight", *TUNED),
        both,
        _arm(both, as_released, about, {"loss.weighting": "batch_mean"}),
        *[_beside(parent, policy) for policy in POLICIES for parent in (hard, soft)],
        *[_paced(hard, arm, pace) for arm, pace in OTHER_PACES.items()],
    ]


def _beside(parent: Entry, policy: str) -> Entry:
    arm = parent.recipe.name.partition(f"x{parent.recipe.epochs}-")[2]
    return _arm(parent, f"{arm}-{policy}", f"The same after {policy}", {"augment.policy": policy})


DATA = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10", UNSEEN: "Fashion-MNIST"}
NETWORKS = {DEEPER: "ResNet-20"}
HARD = "hard"

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
    return (_evidence(), _variants(), _budgets(), _self_paced(), _pacing_rules())


def _evidence() -> PaperTable:
    """The same crops with soft and hard labels, tuned and the paper's."""
    rows = _study_rows("cifar10", MIDDLE, [*MILD_CROPS, crop_arm("both", *TUNED), *FAR_CROPS])
    title = "Soft against hard: CIFAR-10, 5,000 images, 40 epochs"
    return PaperTable("evidence", title, tuple(rows), of_paper=False)


def _variants() -> PaperTable:
    """Other ways to soften; policies; CIFAR-100."""
    ways = [crop_arm(words, *TUNED) for words in ("weight", "both", "both-batch-mean")]
    rows = [
        *_study_rows("cifar10", MIDDLE, [MILD, *ways]),
        *[row for policy in POLICIES for row in _policy_rows(policy)],
        *_study_rows("cifar100", MIDDLE, [MILD, FAR]),
    ]
    title = "Ways to soften, policies, CIFAR-100: 5,000 images, 40 epochs"
    return PaperTable("variants", title, tuple(rows), of_paper=False)


def _study_rows(data: str, epochs: int, arms: Sequence[str], model: str = MODEL) -> list[PaperRow]:
    """The baseline and the arms that are compared with it."""
    group = f"{DATA[data]}, {epochs} epochs" + ("" if model == MODEL else f", {NETWORKS[model]}")
    names = {arm: budget_name(data, epochs, arm, model) for arm in (HARD, *arms)}
    return [_study_row(group, arm, name) for arm, name in names.items()]


def _study_row(group: str, arm: str, recipe: str) -> PaperRow:
    return PaperRow(group, arm, CELLS, recipe, None if arm == HARD else HARD)


def _policy_rows(policy: str) -> list[PaperRow]:
    group = f"CIFAR-10, {MIDDLE} epochs, {POLICIES[policy]}"
    names = {arm: budget_name("cifar10", MIDDLE, f"{arm}-{policy}") for arm in (HARD, MILD)}
    return [_study_row(group, arm, name) for arm, name in names.items()]


def _budgets() -> PaperTable:
    """How far crops may go, by the number of epochs."""
    soft = [crop_arm("target", *crop) for crop in SOFT["cifar10"]]
    rows = {epochs: _study_rows("cifar10", epochs, soft) for epochs in EPOCHS}
    every = tuple(row for found in rows.values() for row in found)
    title = "How far crops may go at a budget: CIFAR-10, 5,000 images"
    return PaperFigure("budgets", title, every, of_paper=False, panels=_panels(rows, [HARD, *soft]))


def _self_paced() -> PaperTable:
    """A crop that paces itself beside fixed ones: data sets, budgets, networks."""
    arms = [MILD, FAR, PACED]
    rows = {data: {epochs: _study_rows(data, epochs, arms) for epochs in EPOCHS} for data in SOFT}
    deeper = [_study_rows(data, epochs, arms, DEEPER) for data in SOFT for epochs in DEEPER_EPOCHS]
    others = [*deeper, _study_rows(UNSEEN, MIDDLE, arms)]
    panels = [_panels(found, [HARD, *arms], f"{DATA[data]}: ") for data, found in rows.items()]
    by_epochs = [found for each in rows.values() for found in each.values()]
    return PaperFigure(
        "self-paced",
        "Softness that paces itself: 5,000 images",
        tuple(row for found in (*by_epochs, *others) for row in found),
        of_paper=False,
        panels=tuple(panel for each in panels for panel in each),
    )


def _pacing_rules() -> PaperTable:
    """What else can say how far crops may go."""
    rows = _study_rows("cifar10", MIDDLE, [PACED, *OTHER_PACES])
    title = "Rules that pace crops: CIFAR-10, 5,000 images, 40 epochs"
    return PaperTable("pacing-rules", title, tuple(rows), of_paper=False)


def _panels(
    rows: dict[int, list[PaperRow]], arms: Sequence[str], start: str = ""
) -> tuple[PaperPanel, ...]:
    """A plot over epochs for each of three numbers."""
    return tuple(
        PaperPanel(start + title, "epochs", label, _by_epochs(rows, arms, cell))
        for title, label, cell in (
            ("Error", "error, %", CELLS[0]),
            ("Calibration", "ECE, %", CELLS[1]),
            ("40 % hidden", "error, 40 % hidden, %", CELLS[3]),
        )
    )


def _by_epochs(
    rows: dict[int, list[PaperRow]], arms: Sequence[str], cell: PaperCell
) -> tuple[PaperLine, ...]:
    return tuple(
        PaperLine(arm, tuple((float(epochs), found[place], cell) for epochs, found in rows.items()))
        for place, arm in enumerate(arms)
    )
