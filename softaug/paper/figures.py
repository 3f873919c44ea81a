"""Figures 1 to 7: the recipes that they need, and which number stands where."""

from softaug.paper.exhibit import Cell, Exhibit, Line, Panel, Row
from softaug.paper.rows import row
from softaug.paper.tables import BASE, BOTH, RA, SA
from softaug.recipes.catalogue import find
from softaug.recipes.figure3 import ALPHAS, KS, SIGMAS

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
