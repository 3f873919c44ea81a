"""What a table or a figure of the paper, or a study of ours, is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from softaug.lab.recipes.ablations import FOCAL_GAMMAS
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.paper_numbers import V2, PaperNumber, QuotedNumber, quoted_numbers
from softaug.lab.recipes.ssl import LEARNING_RATES

Measure = Literal["error", "ece", "probe_error"]


@dataclass(frozen=True)
class PaperCell:
    """One number of a row, in %."""

    measure: Measure
    on: str = ""
    """the images it is of, where they are not the recipe's test images as they are"""
    value: float | None = None
    """the paper's; None where it has none"""
    se: float | None = None
    """its standard error in the paper"""
    diverged: bool = False
    """whether the paper says that training diverged, in place of a value"""
    source: str = ""
    """whose number it is, where the paper quotes it"""
    why: str = ""
    """what is to be known of it"""


@dataclass(frozen=True)
class PaperRow:
    """A line of a table: a recipe to be run, or what the paper quotes from others."""

    group: str
    label: str
    """unique in its group"""
    cells: tuple[PaperCell, ...]
    recipe: str | None = None
    """its name in the catalogue; None where a number is only quoted"""
    baseline: str | None = None
    """label of the row in the same group that gains are counted from"""
    quoted: str | None = None
    """whose number it is, where the paper did not measure it"""


@dataclass(frozen=True)
class PaperLine:
    """A line of a plot: at each x, the cell of a row."""

    label: str
    points: tuple[tuple[float, PaperRow, PaperCell], ...]


@dataclass(frozen=True)
class PaperPanel:
    """A plot."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[PaperLine, ...]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, or a study of ours."""

    name: str
    title: str
    rows: tuple[PaperRow, ...] = ()
    notes: tuple[str, ...] = ()
    of_paper: bool = True
    """else it is a study of ours, whose recipes are of the cpu scale"""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        return tuple(dict.fromkeys(row.recipe for row in self.rows if row.recipe is not None))


@dataclass(frozen=True)
class PaperFigure(PaperTable):
    """A figure of the paper, or a study of ours that is plotted."""

    panels: tuple[PaperPanel, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """(label, recipe) of the networks whose answers a figure shows; the first seed's"""
    offsets: bool = False
    """whether it shows where the crops of its rows land"""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it needs, each once."""
        return tuple(dict.fromkeys([*super().recipes, *(recipe for _, recipe in self.examples)]))


ANOTHER = "another paper"
CIFAR = {"cifar100": "CIFAR-100", "cifar10": "CIFAR-10"}


def row(
    table: str,
    group: str,
    label: str,
    recipe: str,
    baseline: str | None = None,
    measures: Sequence[Measure] = ("error",),
    on: str = "",
    why: str = "",
) -> PaperRow:
    """The row of a recipe; without a number in that table its cells have none of the paper's."""
    found = [number for number in find(recipe).paper if (number.table, number.on) == (table, on)]
    number = found[0] if found else PaperNumber(table, on=on)
    cells = tuple(_cell(measure, number, why) for measure in measures)
    return PaperRow(group, label, cells, recipe, baseline)


def _cell(measure: Measure, number: PaperNumber, why: str) -> PaperCell:
    source = ANOTHER if number.quoted else ""
    if measure == "ece":
        return PaperCell(measure, number.on, number.ece, number.ece_se, source=source, why=why)
    return PaperCell(measure, number.on, number.error, number.se, source=source, why=why)


def quoted(table: str, data: str, method: str = "", source: str = "") -> list[QuotedNumber]:
    """What the paper took from others for a table: of that method or source, in its order."""
    return [
        number
        for number in quoted_numbers()
        if (number.table, number.data) == (table, data)
        and method in ("", number.method)
        and source in ("", number.source)
    ]


def quoted_row(group: str, label: str, number: QuotedNumber) -> PaperRow:
    """The row of a number that nobody runs here."""
    cells = [PaperCell("error", value=number.error, se=number.se, source=number.source)]
    if number.ece is not None:
        cells.append(PaperCell("ece", value=number.ece, source=number.source))
    return PaperRow(group, label, tuple(cells), quoted=number.source)


BASE, SA, RA = "Baseline", "Soft Augmentation", "RandAugment"
BOTH = f"{SA} + {RA}"
ARMS = {"hard": BASE, "soft": SA, "randaugment": RA, "soft-randaugment": BOTH}
NETS = {
    "efficientnet-b0": "EfficientNet-B0",
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "wrn28-10": "WideResNet-28-10",
    "pyramidnet272": "PyramidNet + ShakeDrop",
}
IMAGENET = {"": "ImageNet-1K", V2: V2}
PHOTO_NETS = {"resnet50": "ResNet-50", "resnet101": "ResNet-101"}
FOCAL = {f"focal-gamma{gamma}": f"Focal Loss, gamma {gamma}" for gamma in FOCAL_GAMMAS}
PAIR_ARMS = {"baseline": BASE, "sa1": "SA#1", "sa2": "SA#2"}
BINS = "ECE has 10 bins; quoted rows have 15 after temperature scaling: not like for like"


def tables() -> tuple[PaperTable, ...]:
    """All nine."""
    return (
        PaperTable("table1", "Related methods: ResNet-18 on CIFAR-100", _related()),
        PaperTable("table2", "Soft Augmentation and RandAugment", _supervised()),
        PaperTable(
            "table3", "Error and calibration: WideResNet-28-10", _calibration(), notes=(BINS,)
        ),
        PaperTable("table4", "SimSiam: error of the linear probe, best learning rates", _pairs()),
        PaperTable("table5", "Related methods, extended: ResNet-18 on CIFAR-100", _extended()),
        PaperTable("table6", "Additive noise: ResNet-18 on CIFAR-100", _noise()),
        _photo_calibration(),
        PaperTable("table8", "SimSiam by learning rate", _rates()),
        PaperTable(
            "table9", "SimSiam with SA#1 by k", _curves(), notes=("single runs in the paper",)
        ),
    )


def _related() -> tuple[PaperRow, ...]:
    """Table 1: quoted numbers of a method stand above the paper's own."""
    arms = {
        "hard": BASE,
        "mixup": "Mixup",
        "cutout": "Cutout",
        "label-smoothing": "Label Smoothing",
        "online-label-smoothing": "Online Label Smoothing",
        **FOCAL,
        "randaugment": RA,
        "soft": SA,
    }
    group, rows = CIFAR["cifar100"], []
    for mine, method in zip(_resnet18("1", group, arms), arms.values(), strict=True):
        others = quoted("1", "cifar100", method)
        rows += [quoted_row(group, f"{method}, {number.source}", number) for number in others]
        rows.append(mine)
    return tuple(rows)


def _supervised() -> tuple[PaperRow, ...]:
    """Table 2: each network with four arms."""
    rows = []
    for data, group in CIFAR.items():
        for model, net in NETS.items():
            rows += _arms(group, net, {f"{data}-{model}-{arm}": arm for arm in ARMS})
    for on, group in IMAGENET.items():
        for model, net in PHOTO_NETS.items():
            rows += _arms(group, net, _photo_arms(model), on)
    return tuple(rows)


def _photo_arms(model: str) -> dict[str, str]:
    """Recipe -> arm; the baseline's has another name than CIFAR's."""
    return {f"imagenet-{model}-{'baseline' if arm == 'hard' else arm}": arm for arm in ARMS}


def _arms(group: str, net: str, recipes: dict[str, str], on: str = "") -> list[PaperRow]:
    base = f"{net}, {BASE}"
    return [
        row("2", group, f"{net}, {ARMS[arm]}", recipe, None if arm == "hard" else base, on=on)
        for recipe, arm in recipes.items()
    ]


def _calibration() -> tuple[PaperRow, ...]:
    """Table 3, and the row that it lacks: TrivialAugment alone."""
    arms = {
        "ensemble": "5-Ensemble (the paper quotes its number)",
        "hard": BASE,
        "trivialaugment": "TrivialAugment (not in the paper)",
        "soft-trivialaugment": f"{SA} + TrivialAugment",
    }
    both: tuple[Measure, ...] = ("error", "ece")
    rows = []
    for data, group in CIFAR.items():
        rows += [quoted_row(group, number.method, number) for number in quoted("3", data)]
        for arm, label in arms.items():
            base = None if arm == "hard" else BASE
            rows.append(row("3", group, label, f"{data}-wrn28-10-{arm}", base, both))
    return tuple(rows)


def _pair_row(table: str, group: str, label: str, name: str, base: str | None) -> PaperRow:
    return row(table, group, label, name, base, ("probe_error",))


def _diverged(known: PaperRow) -> PaperRow:
    """The row with word that it diverged in the paper."""
    return replace(known, cells=tuple(replace(cell, diverged=True) for cell in known.cells))


def _pairs() -> tuple[PaperRow, ...]:
    """Table 4; the paper has no SA#2 for CIFAR-10."""
    return tuple(
        _pair_row("4", group, label, f"{data}-simsiam-resnet18-{arm}", _base(arm))
        for data, group in CIFAR.items()
        for arm, label in PAIR_ARMS.items()
        if (data, arm) != ("cifar10", "sa2")
    )


def _base(arm: str) -> str | None:
    return None if arm == "baseline" else BASE


def _rates() -> tuple[PaperRow, ...]:
    """Table 8; an arm at its own learning rate is the row of Table 4."""
    rows = []
    for lr in LEARNING_RATES:
        for arm, label in PAIR_ARMS.items():
            own = lr == (0.1 if arm == "sa2" else 0.2)
            name = f"cifar100-simsiam-resnet18-{arm}" + ("" if own else f"-lr{lr:g}")
            group = f"CIFAR-100, learning rate {lr:g}"
            known = _pair_row("8", group, label, name, _base(arm))
            rows.append(_diverged(known) if arm == "sa2" and lr >= 0.4 else known)
    group = "CIFAR-10, learning rate 0.2"
    for arm in ("baseline", "sa1"):
        name = f"cifar10-simsiam-resnet18-{arm}"
        rows.append(_pair_row("8", group, PAIR_ARMS[arm], name, _base(arm)))
    return tuple(rows)


def _curves() -> tuple[PaperRow, ...]:
    """Table 9: k = 4 is the row of Table 4."""
    names = {f"k = {k}": f"sa1-k{k}" for k in (1, 2, 3)} | {"k = 4": "sa1"}
    group = "CIFAR-100, learning rate 0.2"
    return tuple(
        _pair_row("9", group, label, f"cifar100-simsiam-resnet18-{arm}", None)
        for label, arm in names.items()
    )


def _extended() -> tuple[PaperRow, ...]:
    """Table 5: other papers' groups, then the paper's own."""
    sources = ("Zhang et al. (Mixup)", "Kim et al. (Puzzle Mix)", "Kim et al. (Co-Mixup)")
    others = [(who, number) for who in sources for number in quoted("5", "cifar100", source=who)]
    rows = [quoted_row(who, number.method, number) for who, number in others]
    arms = {
        "hard": BASE,
        "label-smoothing": "Label Smoothing",
        "online-label-smoothing": "Online Label Smoothing",
        **FOCAL,
        "mixup": "Mixup, alpha 1",
        "cutout": "Cutout, 8 pixels",
        "soft": SA,
        "randaugment": RA,
        "soft-randaugment": BOTH,
    }
    return (*rows, *_resnet18("5", "The paper's own", arms))


def _noise() -> tuple[PaperRow, ...]:
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
    return tuple(_resnet18("6", "CIFAR-100", arms))


def _resnet18(table: str, group: str, arms: dict[str, str]) -> list[PaperRow]:
    return [
        row(table, group, label, f"cifar100-resnet18-{arm}", None if arm == "hard" else BASE)
        for arm, label in arms.items()
    ]


def _photo_calibration() -> PaperTable:
    """Table 7: ECE on both test sets."""
    arms = {"baseline": BASE, "randaugment": RA, "soft": SA, "soft-randaugment": BOTH}
    rows = tuple(
        row("7", group, label, f"imagenet-resnet50-{arm}", _base(arm), ("ece",), on)
        for on, group in IMAGENET.items()
        for arm, label in arms.items()
    )
    note = "the paper does not say how many bins its ECE has; ours has 10"
    return PaperTable("table7", "Calibration on ImageNet: ResNet-50", rows, notes=(note,))
