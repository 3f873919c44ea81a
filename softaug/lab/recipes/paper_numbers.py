"""What the paper reports for the rows that are recipes here, in %.

Means of 3 runs (Table 9: single runs), ± their standard error. None of these was measured here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class PaperNumber:
    """A result of the paper, as printed there."""

    table: str
    """its number there, or "text" """
    error: float | None = None
    """top-1 error in %; of the linear probe where labels are not learned from"""
    se: float | None = None
    """standard error of it; 0 is printed as <0.01"""
    ece: float | None = None
    """calibration error in %, 10 bins in Table 3, not stated in Table 7"""
    ece_se: float | None = None
    quoted: bool = False
    """whether the paper took it from another one"""
    on: str = ""
    """the images it is of, where they are not the recipe's test images as they are"""

    @property
    def place(self) -> str:
        """Where the paper has it.

        >>> PaperNumber("2", 18.31, 0.17).place
        'Table 2'
        >>> PaperNumber("3", 17.21, ece=3.32, quoted=True).place
        'Table 3, quoted there'
        """
        place = self.table if self.table == "text" else f"Table {self.table}"
        place += {"7": ", bins not stated", "9": ", a single run"}.get(self.table, "")
        return f"{place}, quoted there" if self.quoted else place

    @property
    def shown(self) -> str:
        """The numbers as the paper rounds them.

        >>> PaperNumber("3", 14.24, 0.11, 1.76, 0.15).shown
        '14.24 ± 0.11 % error, 1.76 ± 0.15 % ECE'
        >>> PaperNumber("7", ece=9.91, on="ImageNet-V2").shown
        '9.91 % ECE on ImageNet-V2'
        """
        error = [] if self.error is None else [f"{spread(self.error, self.se)} % error"]
        ece = [] if self.ece is None else [f"{spread(self.ece, self.ece_se)} % ECE"]
        return ", ".join([*error, *ece]) + (f" on {self.on}" if self.on else "")


def spread(mean: float, se: float | None) -> str:
    """A mean and its standard error as the paper prints them.

    >>> spread(22.62, 0.0)
    '22.62 ± <0.01'
    """
    if se is None:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {f'{se:.2f}' if se else '<0.01'}"


ARMS = ("hard", "soft", "randaugment", "soft-randaugment")
IMAGENET_ARMS = ("baseline", *ARMS[1:])
V2 = "ImageNet-V2"

_TABLE_2 = {  # error and standard error, in the order of ARMS
    "cifar100-efficientnet-b0": ((49.70, 1.55), (42.13, 0.45), (46.68, 1.52), (38.72, 0.71)),
    "cifar100-resnet18": ((20.80, 0.11), (18.31, 0.17), (20.99, 0.11), (18.10, 0.20)),
    "cifar100-resnet50": ((20.18, 0.30), (18.06, 0.24), (18.57, 0.09), (16.72, 0.06)),
    "cifar100-wrn28-10": ((18.60, 0.19), (16.47, 0.18), (17.65, 0.14), (15.37, 0.17)),
    "cifar100-pyramidnet272": ((15.77, 0.17), (14.03, 0.05), (14.02, 0.28), (12.78, 0.16)),
    "cifar10-efficientnet-b0": ((17.73, 0.69), (12.21, 0.22), (14.54, 0.47), (11.67, 0.26)),
    "cifar10-resnet18": ((4.38, 0.05), (3.51, 0.08), (3.89, 0.06), (3.27, 0.08)),
    "cifar10-resnet50": ((4.34, 0.14), (3.67, 0.08), (3.91, 0.14), (3.01, 0.02)),
    "cifar10-wrn28-10": ((3.67, 0.08), (2.85, 0.02), (3.26, 0.04), (2.45, 0.03)),
    "cifar10-pyramidnet272": ((2.86, 0.03), (2.26, 0.02), (2.32, 0.08), (2.02, 0.01)),
    "imagenet-resnet50": ((22.62, 0.0), (21.66, 0.02), (22.02, 0.02), (21.27, 0.05)),
    "imagenet-resnet101": ((20.91, 0.04), (20.63, 0.03), (20.39, 0.07), (19.86, 0.03)),
}
_TABLE_2_V2 = {
    "imagenet-resnet50": ((34.97, 0.03), (33.32, 0.10), (34.16, 0.21), (32.38, 0.16)),
    "imagenet-resnet101": ((32.68, 0.04), (31.81, 0.16), (32.08, 0.19), (31.26, 0.12)),
}
_TABLE_7 = {"": (5.11, 3.17, 4.09, 2.78), V2: (9.91, 3.24, 8.84, 3.18)}  # ResNet-50, as ARMS
_TABLE_8 = {  # error and standard error by learning rate
    "baseline": {
        "0.1": (39.50, 0.13),
        "0.2": (37.64, 0.06),
        "0.4": (40.28, 2.49),
        "0.5": (43.26, 3.03),
        "0.8": (78.88, 9.05),
    },
    "sa1": {
        "0.1": (40.21, 0.03),
        "0.2": (36.61, 0.05),
        "0.4": (37.68, 0.06),
        "0.5": (41.94, 0.04),
        "0.8": (55.44, 4.15),
    },
    "sa2": {"0.1": (37.39, 0.06), "0.2": (39.20, 0.42)},  # above, it diverged
}
_HIDDEN = "images 80 % hidden"  # the text has accuracies, 3.42 and 18.98

_OTHERS = {  # Table 3 prints other standard errors than Table 2 for the same WRN-28-10 means
    "cifar100-resnet18-hard": [PaperNumber(table, 20.80, 0.11) for table in "156"],
    "cifar100-resnet18-soft": [PaperNumber(table, 18.31, 0.17) for table in "156"],
    "cifar100-resnet18-randaugment": [PaperNumber(table, 20.99, 0.11) for table in "156"],
    "cifar100-resnet18-soft-randaugment": [PaperNumber(table, 18.10, 0.20) for table in "56"],
    "cifar100-resnet18-label-smoothing": [PaperNumber(table, 19.47, 0.18) for table in "15"],
    "cifar100-resnet18-hard-normal": [PaperNumber("6", 20.26, 0.12)],
    "cifar100-resnet18-mixup": [PaperNumber(table, 19.88, 0.38) for table in "15"],
    "cifar100-resnet18-cutout": [PaperNumber(table, 20.51, 0.02) for table in "15"],
    "cifar100-resnet18-online-label-smoothing": [PaperNumber(t, 20.12, 0.05) for t in "15"],
    "cifar100-resnet18-focal-gamma1": [PaperNumber(table, 20.45, 0.08) for table in "15"],
    "cifar100-resnet18-focal-gamma2": [PaperNumber(table, 20.38, 0.08) for table in "15"],
    "cifar100-resnet18-focal-gamma5": [PaperNumber(table, 20.69, 0.17) for table in "15"],
    "cifar100-resnet18-noise": [PaperNumber("6", 20.68, 0.05)],
    "cifar100-resnet18-soft-noise": [PaperNumber("6", 19.20, 0.20)],
    "cifar100-resnet18-soft-noise-randaugment": [PaperNumber("6", 17.87, 0.17)],
    "cifar100-resnet18-hard-aggressive": [PaperNumber("text", 22.99)],  # 20.80 + 2.19
    "cifar100-wrn28-10-hard": [PaperNumber("3", 18.60, 0.16, 4.86, 0.10)],
    "cifar100-wrn28-10-soft-trivialaugment": [PaperNumber("3", 14.24, 0.11, 1.76, 0.15)],
    "cifar100-wrn28-10-ensemble": [PaperNumber("3", 17.21, ece=3.32, quoted=True)],
    "cifar10-wrn28-10-ensemble": [PaperNumber("3", 3.41, ece=0.76, quoted=True)],
    "cifar10-wrn28-10-hard": [PaperNumber("3", 3.67, 0.07, 2.22, 0.03)],
    "cifar10-wrn28-10-soft-trivialaugment": [PaperNumber("3", 2.23, 0.06, 0.61, 0.10)],
    "cifar100-simsiam-resnet18-sa1-k1": [PaperNumber("9", 37.78)],
    "cifar100-simsiam-resnet18-sa1-k2": [PaperNumber("9", 37.27)],
    "cifar100-simsiam-resnet18-sa1-k3": [PaperNumber("9", 36.34)],
    "cifar100-simsiam-resnet18-sa1": [PaperNumber("4", 36.61, 0.05), PaperNumber("9", 36.31)],
    "cifar100-simsiam-resnet18-baseline": [PaperNumber("4", 37.64, 0.06)],
    "cifar100-simsiam-resnet18-sa2": [PaperNumber("4", 37.39, 0.06)],
    "cifar10-simsiam-resnet18-baseline": [PaperNumber(table, 9.87, 0.03) for table in "48"],
    "cifar10-simsiam-resnet18-sa1": [PaperNumber(table, 9.31, 0.01) for table in "48"],
    "imagenet-resnet50-baseline": [PaperNumber("text", 96.58, on=_HIDDEN)],
    "imagenet-resnet50-soft-randaugment": [PaperNumber("text", 81.02, on=_HIDDEN)],
}


def paper_numbers(name: str) -> tuple[PaperNumber, ...]:
    """The paper's results for the recipe `name`, by table; empty where it has none."""
    found = [*_table_2(name, _TABLE_2), *_table_2(name, _TABLE_2_V2, on=V2), *_table_7(name)]
    found += _table_8(name)
    found += _OTHERS.get(name, [])
    return tuple(sorted(found, key=lambda number: number.table))


def _table_2(
    name: str, table: Mapping[str, tuple[tuple[float, float], ...]], on: str = ""
) -> Iterator[PaperNumber]:
    for family, pairs in table.items():
        arms = IMAGENET_ARMS if family.startswith("imagenet") else ARMS
        for arm, (error, se) in zip(arms, pairs, strict=True):
            if name == f"{family}-{arm}":
                yield PaperNumber("2", error, se, on=on)


def _table_7(name: str) -> Iterator[PaperNumber]:
    for on, values in _TABLE_7.items():
        for arm, ece in zip(IMAGENET_ARMS, values, strict=True):
            if name == f"imagenet-resnet50-{arm}":
                yield PaperNumber("7", ece=ece, on=on)


def _table_8(name: str) -> Iterator[PaperNumber]:
    """The rows of an arm's own learning rate are called after the arm alone."""
    for arm, by_lr in _TABLE_8.items():
        for lr, (error, se) in by_lr.items():
            own = lr == ("0.1" if arm == "sa2" else "0.2")
            if name == f"cifar100-simsiam-resnet18-{arm}" + ("" if own else f"-lr{lr}"):
                yield PaperNumber("8", error, se)


class QuotedNumber(NamedTuple):
    """A result that the paper quotes, in %."""

    table: str
    method: str
    source: str
    """whose number it is, as the paper says"""
    data: str
    error: float
    se: float | None = None
    ece: float | None = None
    """15 bins after temperature scaling, where the paper's own rows have 10 and none"""


_ZHANG, _DEVRIES = "Zhang et al. (Mixup)", "DeVries and Taylor (Cutout)"
_PUZZLE, _COMIXUP = "Kim et al. (Puzzle Mix)", "Kim et al. (Co-Mixup)"

QUOTED = (
    QuotedNumber("1", "Baseline", _ZHANG, "cifar100", 25.6),
    QuotedNumber("1", "Baseline", _DEVRIES, "cifar100", 22.46, 0.31),
    QuotedNumber("1", "Baseline", _COMIXUP, "cifar100", 23.59),
    QuotedNumber("1", "Mixup", _ZHANG, "cifar100", 21.1),
    QuotedNumber("1", "Mixup", _COMIXUP, "cifar100", 22.43),
    QuotedNumber("1", "Cutout", _DEVRIES, "cifar100", 21.96, 0.24),
    QuotedNumber("5", "Baseline", _ZHANG, "cifar100", 25.6),
    QuotedNumber("5", "Mixup", _ZHANG, "cifar100", 21.1),
    QuotedNumber("5", "Baseline", _PUZZLE, "cifar100", 23.67),
    QuotedNumber("5", "Mixup", _PUZZLE, "cifar100", 23.16),
    QuotedNumber("5", "Manifold Mixup", _PUZZLE, "cifar100", 20.98),
    QuotedNumber("5", "Puzzle Mix", _PUZZLE, "cifar100", 19.62),
    QuotedNumber("5", "Baseline", _COMIXUP, "cifar100", 23.59),
    QuotedNumber("5", "Mixup", _COMIXUP, "cifar100", 22.43),
    QuotedNumber("5", "Manifold Mixup", _COMIXUP, "cifar100", 21.64),
    QuotedNumber("5", "Puzzle Mix", _COMIXUP, "cifar100", 20.62),
    QuotedNumber("5", "Co-Mixup", _COMIXUP, "cifar100", 19.87),
    QuotedNumber("3", "Energy-based", "Liu et al.", "cifar100", 19.74, ece=4.62),
    QuotedNumber("3", "Energy-based", "Liu et al.", "cifar10", 4.02, ece=0.85),
    QuotedNumber("3", "DUQ", "van Amersfoort et al.", "cifar10", 5.40, ece=1.55),
    QuotedNumber("3", "SNGP", "Liu et al.", "cifar100", 20.00, ece=4.33),
    QuotedNumber("3", "SNGP", "Liu et al.", "cifar10", 3.96, ece=1.80),
    QuotedNumber("3", "DDU", "Mukhoti et al.", "cifar100", 19.02, ece=4.10),
    QuotedNumber("3", "DDU", "Mukhoti et al.", "cifar10", 4.03, ece=0.85),
)
