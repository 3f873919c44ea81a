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
    Cell,
    Exhibit,
    Line,
    Panel,
    Row,
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


def figures() -> tuple[Exhibit, ...]:
    """All seven; the second needs no run."""
    return (
        _offsets(),
        Exhibit("figure2", "Targets, and softening curves by k"),
        _ablation(),
        Exhibit("figure4", "Occluded images and answers", examples=OCCLUDED),
        _occlusion(),
        Exhibit("figure6", "Images and answers with their confidence", examples=ANSWERED),
        Exhibit("figure7", "More occluded images and answers", examples=OCCLUDED),
    )


def _offsets() -> Exhibit:
    """Figure 1: the error beneath each range of offsets."""
    group, start = "CIFAR-100, ResNet-18", "cifar100-resnet18"
    aggressive = ("Aggressive hard crop", f"{start}-hard-aggressive")
    rows = (
        row("1", group, "Hard crop", f"{start}-hard"),
        row("text", group, *aggressive, "Hard crop", why="the paper prints the difference: +2.19"),
        row("1", group, "Soft crop", f"{start}-soft", "Hard crop"),
    )
    return Exhibit("figure1", "Ranges of offsets, and what they cost", rows, offsets=True)


def _ablation() -> Exhibit:
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
    return Exhibit("figure3", title, rows, tuple(panel for _, panel in found), notes=(note,))


def _by_sigma(title: str, named: dict[str, str]) -> tuple[list[Row], Panel]:
    """The rows of a panel, the baseline first, and its lines, the baseline a level one."""
    base = row("", title, BASE, "cifar100-resnet18-hard")
    level = tuple((sigma, base, base.cells[0]) for sigma in SIGMAS)
    rows, lines = [base], [Line(BASE, level)]
    for label, start in named.items():
        mine = [_at_sigma(title, label, start, sigma) for sigma in SIGMAS]
        rows += mine
        points = zip(SIGMAS, mine, strict=True)
        lines.append(Line(label, tuple((x, each, each.cells[0]) for x, each in points)))
    return rows, Panel(title, "sigma", ERROR, tuple(lines))


def _at_sigma(group: str, label: str, start: str, sigma: float) -> Row:
    name = f"cifar100-resnet18-figure3-{start}-sigma{sigma:g}"
    return row("", group, f"{label}, sigma {sigma:g}", name, BASE)


def _occlusion() -> Exhibit:
    """Figure 5; the text has the numbers at 80 %."""
    rows = tuple(_hidden(arm, label) for arm, label in PHOTO_ARMS.items())
    lines = tuple(
        Line(each.label, tuple(zip((0.0, *HIDDEN), [each] * 5, each.cells, strict=True)))
        for each in rows
    )
    panel = Panel("Occluded images", "share of the image hidden, %", ERROR, lines)
    title = "Error under occlusion: ResNet-50 on ImageNet"
    return Exhibit("figure5", title, rows, (panel,))


def _hidden(arm: str, label: str) -> Row:
    recipe = f"imagenet-resnet50-{arm}"
    known = {n.on: n.error for n in find(recipe).paper if n.table == "text"}
    places = [f"images {share} % hidden" for share in HIDDEN]
    cells = [Cell("error"), *(Cell("error", on, known.get(on)) for on in places)]
    base = None if arm == "baseline" else BASE
    return Row("ImageNet-1K, ResNet-50", label, tuple(cells), recipe, base)


DATA = {**CIFAR, UNSEEN: "Fashion-MNIST"}
NETWORKS = {DEEPER: "ResNet-20"}
HARD = "hard"

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


ALL = "all"


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """Tables, then figures, then studies of ours."""
    return (*tables(), *figures(), *studies())


def find_exhibits(names: Sequence[str], scale: Scale = "cpu") -> list[Exhibit]:
    """Those called so, each once, in the paper's order; "all" is every one of the scale.

    An unknown name is refused with the nearest, a study at the paper's scale with the others.
    """
    known = [exhibit.name for exhibit in exhibits()]
    for name in names:
        if name not in (ALL, *known):
            remedy = nearest(name, [ALL, *known]) or "`softaug reproduce list` lists them"
            refuse("reproduce", "name must be that of a table, figure or study", repr(name), remedy)
    named = [exhibit for exhibit in exhibits() if exhibit.name in names]
    studied = [exhibit.name for exhibit in named if not exhibit.of_paper]
    if scale == "paper" and studied:
        rule, remedy = f"{studied[0]} is a study of ours for scale cpu or smoke", "--scale cpu"
        refuse("reproduce", rule, "scale paper", remedy)
    if ALL not in names:
        return named
    return [exhibit for exhibit in exhibits() if exhibit.of_paper or scale != "paper"]
