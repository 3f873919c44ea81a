"""Tables 1 to 9, figures 1 to 7 and studies of ours: which recipe's number stands where."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from softaug.checks import nearest, refuse
from softaug.lab.recipes.ablations import ALPHAS, FOCAL_GAMMAS, KS, SIGMAS
from softaug.lab.recipes.budgets import studies
from softaug.lab.recipes.pairs import LEARNING_RATES
from softaug.lab.recipes.paper_numbers import (
    HIDDEN,
    V2,
    Measure,
    PaperCell,
    PaperFigure,
    PaperLine,
    PaperNumber,
    PaperPanel,
    PaperRow,
    PaperTable,
    QuotedNumber,
    paper_numbers,
    quoted_numbers,
)
from softaug.lab.recipes.scale import Scale

ALL = "all"
CIFAR = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10"}
IMAGENET = {"": "ImageNet-1K", V2: V2}
NETS = {
    "efficientnet-b0": "EfficientNet-B0",
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "wrn28-10": "WideResNet-28-10",
    "pyramidnet272": "PyramidNet + ShakeDrop",
}
PHOTO_NETS = {"resnet50": "ResNet-50", "resnet101": "ResNet-101"}
BASE, SA, RA = "Baseline", "Soft Augmentation", "RandAugment"
BOTH, TRIVIAL = f"{SA} + {RA}", f"{SA} + TrivialAugment"
ARMS = {"hard": BASE, "soft": SA, "randaugment": RA, "soft-randaugment": BOTH}
PHOTO_ARMS = {"baseline": BASE, "randaugment": RA, "soft": SA, "soft-randaugment": BOTH}
PAIR_ARMS = {"baseline": BASE, "sa1": "SA#1", "sa2": "SA#2"}
FOCAL = {f"focal-gamma{gamma}": f"Focal Loss, gamma {gamma}" for gamma in FOCAL_GAMMAS}
RIVALS = {"label-smoothing": "Label Smoothing", "online-label-smoothing": "Online Label Smoothing"}
RIVALS |= FOCAL
ERROR = "top-1 error, %"


@cache
def all_tables() -> tuple[PaperTable, ...]:
    """Return tables, then figures, then studies of ours."""
    return (*tables(), *figures(), *studies())


def find_tables(names: Sequence[str], scale: Scale = "cpu") -> list[PaperTable]:
    """Return those called so, each once, in the paper's order; "all" is every one of the scale.

    An unknown name is refused with the nearest, a study at the paper's scale with the others.
    """
    known = [table.name for table in all_tables()]
    for name in names:
        if name not in (ALL, *known):
            remedy = nearest(name, [ALL, *known]) or "`softaug reproduce list` lists them"
            refuse("reproduce", "name must be that of a table, figure or study", repr(name), remedy)
    named = [table for table in all_tables() if table.name in names]
    studied = [table.name for table in named if not table.of_paper]
    if scale == "paper" and studied:
        rule, remedy = f"{studied[0]} is a study of ours for scale cpu or smoke", "--scale cpu"
        refuse("reproduce", rule, "scale paper", remedy)
    if ALL not in names:
        return named
    return [table for table in all_tables() if table.of_paper or scale != "paper"]


def tables() -> tuple[PaperTable, ...]:
    """Return all nine tables."""
    bins = "ECE has 10 bins; quoted rows have 15 after temperature scaling: not like for like"
    ours = "the paper does not say how many bins its ECE has; ours has 10"
    probe = "SimSiam: error of the linear probe, best learning rates"
    return (
        PaperTable("table1", "Related methods: ResNet-18 on CIFAR-100", _related()),
        PaperTable("table2", "Soft Augmentation and RandAugment", _supervised()),
        PaperTable("table3", "Error and calibration: WideResNet-28-10", _calibration(), (bins,)),
        PaperTable("table4", probe, _pairs()),
        PaperTable("table5", "Related methods, extended: ResNet-18 on CIFAR-100", _extended()),
        PaperTable("table6", "Additive noise: ResNet-18 on CIFAR-100", _noise()),
        PaperTable("table7", "Calibration on ImageNet: ResNet-50", _photo_ece(), (ours,)),
        PaperTable("table8", "SimSiam by learning rate", _rates()),
        PaperTable("table9", "SimSiam with SA#1 by k", _by_k(), ("single runs in the paper",)),
    )


def arm_rows(
    table: str,
    group: str,
    family: str,
    arms: Mapping[str, str],
    measures: Sequence[Measure] = ("error",),
    on: str = "",
    net: str = "",
) -> list[PaperRow]:
    """Return a row for each arm of a family, labelled by the arms; gains are from the baseline."""
    start = f"{net}, " if net else ""
    base = start + BASE if BASE in arms.values() else None
    return [
        make_row(
            table,
            group,
            start + label,
            f"{family}-{arm}",
            None if label == BASE else base,
            measures,
            on,
        )
        for arm, label in arms.items()
    ]


def make_row(
    table: str,
    group: str,
    label: str,
    recipe: str,
    baseline: str | None = None,
    measures: Sequence[Measure] = ("error",),
    on: str = "",
    why: str = "",
) -> PaperRow:
    """Return the row of a recipe; without a number in that table its cells have none."""
    found = [number for number in paper_numbers(recipe) if (number.table, number.on) == (table, on)]
    number = found[0] if found else PaperNumber(table, on=on)
    source = "another paper" if number.quoted else ""
    values = {"ece": (number.ece, number.ece_se)}
    cells = tuple(
        PaperCell(each, on, *values.get(each, (number.error, number.se)), source=source, why=why)
        for each in measures
    )
    return PaperRow(group, label, cells, recipe, baseline)


def _quoted(table: str, data: str, method: str = "", source: str = "") -> list[QuotedNumber]:
    """Return what the paper took from others for a table: of that method or source."""
    return [
        number
        for number in quoted_numbers()
        if (number.table, number.data) == (table, data)
        and method in ("", number.method)
        and source in ("", number.source)
    ]


def _quoted_row(group: str, label: str, number: QuotedNumber) -> PaperRow:
    """Return the row of a number that nobody runs here."""
    cells = [PaperCell("error", value=number.error, se=number.se, source=number.source)]
    if number.ece is not None:
        cells.append(PaperCell("ece", value=number.ece, source=number.source))
    return PaperRow(group, label, tuple(cells), quoted=number.source)


def _related() -> tuple[PaperRow, ...]:
    """Table 1: quoted numbers of a method stand above the paper's own."""
    arms = {"hard": BASE, "mixup": "Mixup", "cutout": "Cutout", **RIVALS}
    arms |= {"randaugment": RA, "soft": SA}
    group, rows = CIFAR["cifar100"], []
    for mine in arm_rows("1", group, "cifar100-resnet18", arms):
        others = _quoted("1", "cifar100", mine.label)
        rows += [_quoted_row(group, f"{mine.label}, {each.source}", each) for each in others]
        rows.append(mine)
    return tuple(rows)


def _supervised() -> tuple[PaperRow, ...]:
    """Table 2: each network with four arms."""
    photo_arms = {"baseline": BASE, **ARMS}
    del photo_arms["hard"]
    rows = []
    for data, group in CIFAR.items():
        for model, net in NETS.items():
            rows += arm_rows("2", group, f"{data}-{model}", ARMS, net=net)
    for on, group in IMAGENET.items():
        for model, net in PHOTO_NETS.items():
            rows += arm_rows("2", group, f"imagenet-{model}", photo_arms, on=on, net=net)
    return tuple(rows)


def _calibration() -> tuple[PaperRow, ...]:
    """Table 3, and the row that it lacks: TrivialAugment alone."""
    arms = {
        "ensemble": "5-Ensemble (the paper quotes its number)",
        "hard": BASE,
        "trivialaugment": "TrivialAugment (not in the paper)",
        "soft-trivialaugment": TRIVIAL,
    }
    rows = []
    for data, group in CIFAR.items():
        rows += [_quoted_row(group, number.method, number) for number in _quoted("3", data)]
        rows += arm_rows("3", group, f"{data}-wrn28-10", arms, ("error", "ece"))
    return tuple(rows)


def _pair_rows(table: str, group: str, data: str, arms: Mapping[str, str]) -> list[PaperRow]:
    return arm_rows(table, group, f"{data}-simsiam-resnet18", arms, ("probe_error",))


def _pairs() -> tuple[PaperRow, ...]:
    """Table 4; the paper has no SA#2 for CIFAR-10."""
    two = {arm: label for arm, label in PAIR_ARMS.items() if arm != "sa2"}
    hundred = _pair_rows("4", CIFAR["cifar100"], "cifar100", PAIR_ARMS)
    return (*hundred, *_pair_rows("4", CIFAR["cifar10"], "cifar10", two))


def _rates() -> tuple[PaperRow, ...]:
    """Table 8; an arm at its own learning rate is the row of Table 4."""
    rows = []
    for lr in LEARNING_RATES:
        arms = {
            arm + ("" if lr == (0.1 if arm == "sa2" else 0.2) else f"-lr{lr:g}"): label
            for arm, label in PAIR_ARMS.items()
        }
        *others, second = _pair_rows("8", f"CIFAR-100, learning rate {lr:g}", "cifar100", arms)
        if lr >= 0.4:  # SA#2 diverged in the paper
            second = replace(second, cells=(replace(second.cells[0], diverged=True),))
        rows += [*others, second]
    two = {arm: label for arm, label in PAIR_ARMS.items() if arm != "sa2"}
    return (*rows, *_pair_rows("8", "CIFAR-10, learning rate 0.2", "cifar10", two))


def _by_k() -> tuple[PaperRow, ...]:
    """Table 9: k = 4 is the row of Table 4."""
    arms = {f"sa1-k{k}": f"k = {k}" for k in (1, 2, 3)} | {"sa1": "k = 4"}
    return tuple(_pair_rows("9", "CIFAR-100, learning rate 0.2", "cifar100", arms))


def _extended() -> tuple[PaperRow, ...]:
    """Table 5: other papers' groups, then the paper's own."""
    sources = ("Zhang et al. (Mixup)", "Kim et al. (Puzzle Mix)", "Kim et al. (Co-Mixup)")
    others = [(who, number) for who in sources for number in _quoted("5", "cifar100", source=who)]
    rows = [_quoted_row(who, number.method, number) for who, number in others]
    arms = {"hard": BASE, **RIVALS, "mixup": "Mixup, alpha 1", "cutout": "Cutout, 8 pixels"}
    arms |= {"soft": SA, "randaugment": RA, "soft-randaugment": BOTH}
    return (*rows, *arm_rows("5", "The paper's own", "cifar100-resnet18", arms))


def _noise() -> tuple[PaperRow, ...]:
    """Table 6."""
    arms = {
        "hard": BASE,
        "randaugment": RA,
        "hard-normal": "Hard crop",
        "soft": "Soft crop, k = 2",
        "noise": "Hard noise",
        "soft-noise": "Soft noise, k = 1",
        "soft-randaugment": "Soft crop + RandAugment",
        "soft-noise-randaugment": "Soft noise + soft crop + RandAugment",
    }
    return tuple(arm_rows("6", CIFAR["cifar100"], "cifar100-resnet18", arms))


def _photo_ece() -> tuple[PaperRow, ...]:
    """Table 7: ECE on both test sets."""
    rows = []
    for on, group in IMAGENET.items():
        rows += arm_rows("7", group, "imagenet-resnet50", PHOTO_ARMS, ("ece",), on)
    return tuple(rows)


def figures() -> tuple[PaperFigure, ...]:
    """Return all seven figures; the second needs no run."""
    fifty, wrn = "imagenet-resnet50", "cifar100-wrn28-10"
    occluded = ((BASE, f"{fifty}-baseline"), (BOTH, f"{fifty}-soft-randaugment"))
    answered = ((BASE, f"{wrn}-hard"), (TRIVIAL, f"{wrn}-soft-trivialaugment"))
    return (
        _offsets(),
        PaperFigure("figure2", "Targets, and softening curves by k"),
        _ablation(),
        PaperFigure("figure4", "Occluded images and answers", examples=occluded),
        _occlusion(),
        PaperFigure("figure6", "Images and answers with their confidence", examples=answered),
        PaperFigure("figure7", "More occluded images and answers", examples=occluded),
    )


def _offsets() -> PaperFigure:
    """Figure 1: the error beneath each range of offsets."""
    group, start = "CIFAR-100, ResNet-18", "cifar100-resnet18"
    difference = "the paper prints the difference: +2.19"
    aggressive = ("Aggressive hard crop", f"{start}-hard-aggressive")
    rows = (
        make_row("1", group, "Hard crop", f"{start}-hard"),
        make_row("text", group, *aggressive, "Hard crop", why=difference),
        make_row("1", group, "Soft crop", f"{start}-soft", "Hard crop"),
    )
    return PaperFigure("figure1", "Ranges of offsets, and what they cost", rows, offsets=True)


def _ablation() -> PaperFigure:
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
    base = make_row("", title, BASE, "cifar100-resnet18-hard")
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
    return make_row("", group, f"{label}, sigma {sigma:g}", name, BASE)


def _occlusion() -> PaperFigure:
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
    known = {n.on: n.error for n in paper_numbers(recipe) if n.table == "text"}
    places = [f"images {share} % hidden" for share in HIDDEN]
    cells = [PaperCell("error"), *(PaperCell("error", on, known.get(on)) for on in places)]
    base = None if arm == "baseline" else BASE
    return PaperRow("ImageNet-1K, ResNet-50", label, tuple(cells), recipe, base)
