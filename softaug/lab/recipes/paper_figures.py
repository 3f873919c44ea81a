"""Figures 1 to 7: the recipes that they need, and which number stands where."""

from collections.abc import Sequence
from functools import cache

from softaug.checks import nearest, refuse
from softaug.lab.recipes.ablations import ALPHAS, KS, SIGMAS
from softaug.lab.recipes.budgets import (
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
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.paper_tables import (
    BASE,
    BOTH,
    CIFAR,
    RA,
    SA,
    PaperCell,
    PaperFigure,
    PaperLine,
    PaperPanel,
    PaperRow,
    PaperTable,
    row,
    tables,
)
from softaug.lab.recipes.scale import Scale

HIDDEN = (20, 40, 60, 80)
PHOTO_ARMS = {"baseline": BASE, "randaugment": RA, "soft": SA, "soft-randaugment": BOTH}
OCCLUDED = (
    (BASE, "imagenet-resnet50-baseline"),
    (BOTH, "imagenet-resnet50-soft-randaugment"),
)
ANSWERED = (
    (BASE, "cifar100-wrn28-10-hard"),
    (f"{SA} + TrivialAugment", "cifar100-wrn28-10-soft-trivialaugment"),
)
ERROR = "top-1 error, %"


def figures() -> tuple[PaperTable, ...]:
    """All seven; the second needs no run."""
    return (
        _offsets(),
        PaperFigure("figure2", "Targets, and softening curves by k"),
        _ablation(),
        PaperFigure("figure4", "Occluded images and answers", examples=OCCLUDED),
        _occlusion(),
        PaperFigure("figure6", "Images and answers with their confidence", examples=ANSWERED),
        PaperFigure("figure7", "More occluded images and answers", examples=OCCLUDED),
    )


def _offsets() -> PaperTable:
    """Figure 1: the error beneath each range of offsets."""
    group, start = "CIFAR-100, ResNet-18", "cifar100-resnet18"
    aggressive = ("Aggressive hard crop", f"{start}-hard-aggressive")
    rows = (
        row("1", group, "Hard crop", f"{start}-hard"),
        row("text", group, *aggressive, "Hard crop", why="the paper prints the difference: +2.19"),
        row("1", group, "Soft crop", f"{start}-soft", "Hard crop"),
    )
    return PaperFigure("figure1", "Ranges of offsets, and what they cost", rows, offsets=True)


def _ablation() -> PaperTable:
    """Figure 3: labels smoothed by alpha; then what softens, by k; all by sigma."""
    panels = {
        "Label smoothing": {f"alpha {a:g}": f"smoothing{a:g}" for a in ALPHAS},
        "Soft target": {f"k = {k}": f"target-k{k}" for k in KS},
        "Soft weight": {f"k = {k}": f"weight-k{k}" for k in KS},
        "Soft target and weight": {f"k = {k}": f"both-k{k}" for k in KS},
    }
    found = [_by_sigma(title, lines) for title, lines in panels.items()]
    rows = tuple(each for rows, _ in found for each in rows)
    note = "the paper's points cannot be read off its figure: the grid of settings is ours"
    title = "What softens, and how much: ResNet-18 on CIFAR-100"
    return PaperFigure("figure3", title, rows, (note,), panels=tuple(panel for _, panel in found))


def _by_sigma(title: str, named: dict[str, str]) -> tuple[list[PaperRow], PaperPanel]:
    """The rows of a panel, the baseline first, and its lines, the baseline a level one."""
    base = row("", title, BASE, "cifar100-resnet18-hard")
    level = tuple((sigma, base, base.cells[0]) for sigma in SIGMAS)
    rows, lines = [base], [PaperLine(BASE, level)]
    for label, start in named.items():
        mine = [_at_sigma(title, label, start, sigma) for sigma in SIGMAS]
        rows += mine
        points = zip(SIGMAS, mine, strict=True)
        lines.append(PaperLine(label, tuple((x, each, each.cells[0]) for x, each in points)))
    return rows, PaperPanel(title, "sigma", ERROR, tuple(lines))


def _at_sigma(group: str, label: str, start: str, sigma: float) -> PaperRow:
    name = f"cifar100-resnet18-figure3-{start}-sigma{sigma:g}"
    return row("", group, f"{label}, sigma {sigma:g}", name, BASE)


def _occlusion() -> PaperTable:
    """Figure 5; the text has the numbers at 80 %."""
    rows = tuple(_hidden(arm, label) for arm, label in PHOTO_ARMS.items())
    lines = tuple(
        PaperLine(each.label, tuple(zip((0.0, *HIDDEN), [each] * 5, each.cells, strict=True)))
        for each in rows
    )
    panel = PaperPanel("Occluded images", "share of the image hidden, %", ERROR, lines)
    title = "Error under occlusion: ResNet-50 on ImageNet"
    return PaperFigure("figure5", title, rows, panels=(panel,))


def _hidden(arm: str, label: str) -> PaperRow:
    recipe = f"imagenet-resnet50-{arm}"
    known = {n.on: n.error for n in find(recipe).paper if n.table == "text"}
    places = [f"images {share} % hidden" for share in HIDDEN]
    cells = [PaperCell("error"), *(PaperCell("error", on, known.get(on)) for on in places)]
    base = None if arm == "baseline" else BASE
    return PaperRow("ImageNet-1K, ResNet-50", label, tuple(cells), recipe, base)


DATA = {**CIFAR, UNSEEN: "Fashion-MNIST"}
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
POLICIES = {"randaugment": "RandAugment", "trivialaugment": "TrivialAugment"}


def studies() -> tuple[PaperTable, ...]:
    """docs/evidence.md and docs/self-paced.md have what came out."""
    return (_evidence(), _variants(), _budgets(), _self_paced(), _pacing_rules())


def _evidence() -> PaperTable:
    """The same crops with soft and hard labels, tuned and the paper's."""
    rows = _rows("cifar10", MIDDLE, [*MILD_CROPS, crop_arm("both", *TUNED), *FAR_CROPS])
    title = "Soft against hard: CIFAR-10, 5,000 images, 40 epochs"
    return PaperTable("evidence", title, tuple(rows), of_paper=False)


def _variants() -> PaperTable:
    """Other ways to soften; policies; CIFAR-100."""
    ways = [crop_arm(words, *TUNED) for words in ("weight", "both", "both-batch-mean")]
    rows = [
        *_rows("cifar10", MIDDLE, [MILD, *ways]),
        *[row for policy in POLICIES for row in _beside(policy)],
        *_rows("cifar100", MIDDLE, [MILD, FAR]),
    ]
    title = "Ways to soften, policies, CIFAR-100: 5,000 images, 40 epochs"
    return PaperTable("variants", title, tuple(rows), of_paper=False)


def _rows(data: str, epochs: int, arms: Sequence[str], model: str = MODEL) -> list[PaperRow]:
    """The baseline and the arms that are compared with it."""
    group = f"{DATA[data]}, {epochs} epochs" + ("" if model == MODEL else f", {NETWORKS[model]}")
    names = {arm: budget_name(data, epochs, arm, model) for arm in (HARD, *arms)}
    return [_row(group, arm, name) for arm, name in names.items()]


def _row(group: str, arm: str, recipe: str) -> PaperRow:
    return PaperRow(group, arm, CELLS, recipe, None if arm == HARD else HARD)


def _beside(policy: str) -> list[PaperRow]:
    group = f"CIFAR-10, {MIDDLE} epochs, {POLICIES[policy]}"
    names = {arm: budget_name("cifar10", MIDDLE, f"{arm}-{policy}") for arm in (HARD, MILD)}
    return [_row(group, arm, name) for arm, name in names.items()]


def _budgets() -> PaperTable:
    """How far crops may go, by the number of epochs."""
    soft = [crop_arm("target", *crop) for crop in SOFT["cifar10"]]
    rows = {epochs: _rows("cifar10", epochs, soft) for epochs in EPOCHS}
    every = tuple(row for found in rows.values() for row in found)
    title = "How far crops may go at a budget: CIFAR-10, 5,000 images"
    return PaperFigure("budgets", title, every, of_paper=False, panels=_panels(rows, [HARD, *soft]))


def _self_paced() -> PaperTable:
    """A crop that paces itself beside fixed ones: data sets, budgets, networks."""
    arms = [MILD, FAR, PACED]
    rows = {data: {epochs: _rows(data, epochs, arms) for epochs in EPOCHS} for data in SOFT}
    deeper = [_rows(data, epochs, arms, DEEPER) for data in SOFT for epochs in DEEPER_EPOCHS]
    others = [*deeper, _rows(UNSEEN, MIDDLE, arms)]
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
    rows = _rows("cifar10", MIDDLE, [PACED, *OTHER_PACES])
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


ALL = "all"


@cache
def all_tables() -> tuple[PaperTable, ...]:
    """Tables, then figures, then studies of ours."""
    return (*tables(), *figures(), *studies())


def find_tables(names: Sequence[str], scale: Scale = "cpu") -> list[PaperTable]:
    """Those called so, each once, in the paper's order; "all" is every one of the scale.

    An unknown name is refused with the nearest, a study at the paper's scale with the others.
    """
    known = [exhibit.name for exhibit in all_tables()]
    for name in names:
        if name not in (ALL, *known):
            remedy = nearest(name, [ALL, *known]) or "`softaug reproduce list` lists them"
            refuse("reproduce", "name must be that of a table, figure or study", repr(name), remedy)
    named = [exhibit for exhibit in all_tables() if exhibit.name in names]
    studied = [exhibit.name for exhibit in named if not exhibit.of_paper]
    if scale == "paper" and studied:
        rule, remedy = f"{studied[0]} is a study of ours for scale cpu or smoke", "--scale cpu"
        refuse("reproduce", rule, "scale paper", remedy)
    if ALL not in names:
        return named
    return [exhibit for exhibit in all_tables() if exhibit.of_paper or scale != "paper"]
