"""Studies of ours, at budgets that a CPU can afford: the paper has no numbers for them."""

from collections.abc import Sequence

from softaug.paper.exhibit import Cell, Exhibit, Line, Panel, Row
from softaug.paper.rows import CIFAR
from softaug.recipes.budgets import EPOCHS, MIDDLE, PAPER, SOFT, TUNED, budget_name, crop_arm

HARD = "hard"
HIDDEN = (20, 40, 60, 80)
CELLS = (
    Cell("error"),
    Cell("ece"),
    *(Cell("error", f"images {share} % hidden") for share in HIDDEN),
)
MILD = crop_arm("target", *TUNED)
SAME_CROPS = (crop_arm("hard-labels", TUNED[0]), MILD)
PAPER_S = (crop_arm("hard-labels", PAPER[0]), crop_arm("target", *PAPER))
POLICIES = {"randaugment": "RandAugment", "trivialaugment": "TrivialAugment"}


def studies() -> tuple[Exhibit, ...]:
    """docs/evidence.md has what came out."""
    return (_evidence(), _variants(), _budgets())


def _evidence() -> Exhibit:
    """The same crops with soft and hard labels, tuned and the paper's."""
    rows = _rows("cifar10", MIDDLE, [*SAME_CROPS, crop_arm("both", *TUNED), *PAPER_S])
    title = "Soft against hard: CIFAR-10, 5,000 images, 40 epochs"
    return Exhibit("evidence", title, tuple(rows), of_paper=False)


def _variants() -> Exhibit:
    """Other ways to soften; policies; CIFAR-100."""
    ways = [crop_arm(words, *TUNED) for words in ("weight", "both", "both-batch-mean")]
    rows = [
        *_rows("cifar10", MIDDLE, [MILD, *ways]),
        *[row for policy in POLICIES for row in _beside(policy)],
        *_rows("cifar100", MIDDLE, [MILD, PAPER_S[1]]),
    ]
    title = "Ways to soften, policies, CIFAR-100: 5,000 images, 40 epochs"
    return Exhibit("variants", title, tuple(rows), of_paper=False)


def _rows(data: str, epochs: int, arms: Sequence[str]) -> list[Row]:
    """The baseline and the arms that are compared with it."""
    group = f"{CIFAR[data]}, {epochs} epochs"
    names = {arm: budget_name(data, epochs, arm) for arm in (HARD, *arms)}
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
    panels = tuple(
        Panel(title, "epochs", label, _by_epochs(rows, [HARD, *soft], cell))
        for title, label, cell in (
            ("Error", "error, %", CELLS[0]),
            ("Calibration", "ECE, %", CELLS[1]),
            ("40 % hidden", "error, 40 % hidden, %", CELLS[3]),
        )
    )
    every = tuple(row for found in rows.values() for row in found)
    title = "How far crops may go at a budget: CIFAR-10, 5,000 images"
    return Exhibit("budgets", title, every, panels, of_paper=False)


def _by_epochs(rows: dict[int, list[Row]], arms: Sequence[str], cell: Cell) -> tuple[Line, ...]:
    return tuple(
        Line(arm, tuple((float(epochs), found[place], cell) for epochs, found in rows.items()))
        for place, arm in enumerate(arms)
    )
