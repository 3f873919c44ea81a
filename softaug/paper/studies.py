"""Studies of ours, at budgets that a CPU can afford: the paper has no numbers for them."""

from collections.abc import Sequence

from softaug.paper.exhibit import Cell, Exhibit, Line, Panel, Row
from softaug.paper.rows import CIFAR
from softaug.recipes.budgets import (
    DEEPER,
    DEEPER_EPOCHS,
    EPOCHS,
    MIDDLE,
    MODEL,
    OTHER_PACES,
    PACED,
    PAPER,
    SOFT,
    TUNED,
    UNSEEN,
    budget_name,
    crop_arm,
)

DATA = {**CIFAR, UNSEEN: "Fashion-MNIST"}
NETWORKS = {DEEPER: "ResNet-20"}
HARD = "hard"
HIDDEN = (20, 40, 60, 80)
CELLS = (
    Cell("error"),
    Cell("ece"),
    *(Cell("error", f"images {share} % hidden") for share in HIDDEN),
)
MILD, FAR = (crop_arm("target", *crop) for crop in (TUNED, PAPER))
MILD_CROPS = (crop_arm("hard-labels", TUNED[0]), MILD)
FAR_CROPS = (crop_arm("hard-labels", PAPER[0]), FAR)
POLICIES = {"randaugment": "RandAugment", "trivialaugment": "TrivialAugment"}


def studies() -> tuple[Exhibit, ...]:
    """docs/evidence.md and docs/self-paced.md have what came out."""
    return (_evidence(), _variants(), _budgets(), _self_paced(), _pacing_rules())


def _evidence() -> Exhibit:
    """The same crops with soft and hard labels, tuned and the paper's."""
    rows = _rows("cifar10", MIDDLE, [*MILD_CROPS, crop_arm("both", *TUNED), *FAR_CROPS])
    title = "Soft against hard: CIFAR-10, 5,000 images, 40 epochs"
    return Exhibit("evidence", title, tuple(rows), of_paper=False)


def _variants() -> Exhibit:
    """Other ways to soften; policies; CIFAR-100."""
    ways = [crop_arm(words, *TUNED) for words in ("weight", "both", "both-batch-mean")]
    rows = [
        *_rows("cifar10", MIDDLE, [MILD, *ways]),
        *[row for policy in POLICIES for row in _beside(policy)],
        *_rows("cifar100", MIDDLE, [MILD, FAR]),
    ]
    title = "Ways to soften, policies, CIFAR-100: 5,000 images, 40 epochs"
    return Exhibit("variants", title, tuple(rows), of_paper=False)


def _rows(data: str, epochs: int, arms: Sequence[str], model: str = MODEL) -> list[Row]:
    """The baseline and the arms that are compared with it."""
    group = f"{DATA[data]}, {epochs} epochs" + ("" if model == MODEL else f", {NETWORKS[model]}")
    names = {arm: budget_name(data, epochs, arm, model) for arm in (HARD, *arms)}
    return [_row(group, arm, name) for arm, name in names.items()]


def _row(group: str, arm: str, recipe: str) -> Row:
    return Row(group, arm, CELLS, recipe, None if arm == HARD else HARD)


def _beside(policy: str) -> list[Row]:
    group = f"CIFAR-10, {MIDDLE} epochs, {POLICIES[policy]}"
    names = {arm: budget_name("cifar10", MIDDLE, f"{arm}-{policy}") for arm in (HARD, MILD)}
    return [_row(group, arm, name) for arm, name in names.items()]


def _budgets() -> Exhibit:
    """How far crops may go, by the number of epochs."""
    soft = [crop_arm("target", *crop) for crop in SOFT["cifar10"]]
    rows = {epochs: _rows("cifar10", epochs, soft) for epochs in EPOCHS}
    every = tuple(row for found in rows.values() for row in found)
    title = "How far crops may go at a budget: CIFAR-10, 5,000 images"
    return Exhibit("budgets", title, every, _panels(rows, [HARD, *soft]), of_paper=False)


def _self_paced() -> Exhibit:
    """A crop that paces itself beside fixed ones: data sets, budgets, networks."""
    arms = [MILD, FAR, PACED]
    rows = {data: {epochs: _rows(data, epochs, arms) for epochs in EPOCHS} for data in SOFT}
    deeper = [_rows(data, epochs, arms, DEEPER) for data in SOFT for epochs in DEEPER_EPOCHS]
    others = [*deeper, _rows(UNSEEN, MIDDLE, arms)]
    panels = [_panels(found, [HARD, *arms], f"{DATA[data]}: ") for data, found in rows.items()]
    by_epochs = [found for each in rows.values() for found in each.values()]
    return Exhibit(
        "self-paced",
        "Softness that paces itself: 5,000 images",
        tuple(row for found in (*by_epochs, *others) for row in found),
        tuple(panel for each in panels for panel in each),
        of_paper=False,
    )


def _pacing_rules() -> Exhibit:
    """What else can say how far crops may go."""
    rows = _rows("cifar10", MIDDLE, [PACED, *OTHER_PACES])
    title = "Rules that pace crops: CIFAR-10, 5,000 images, 40 epochs"
    return Exhibit("pacing-rules", title, tuple(rows), of_paper=False)


def _panels(rows: dict[int, list[Row]], arms: Sequence[str], start: str = "") -> tuple[Panel, ...]:
    """A plot over epochs for each of three numbers."""
    return tuple(
        Panel(start + title, "epochs", label, _by_epochs(rows, arms, cell))
        for title, label, cell in (
            ("Error", "error, %", CELLS[0]),
            ("Calibration", "ECE, %", CELLS[1]),
            ("40 % hidden", "error, 40 % hidden, %", CELLS[3]),
        )
    )


def _by_epochs(rows: dict[int, list[Row]], arms: Sequence[str], cell: Cell) -> tuple[Line, ...]:
    return tuple(
        Line(arm, tuple((float(epochs), found[place], cell) for epochs, found in rows.items()))
        for place, arm in enumerate(arms)
    )
