"""Rows of the paper's tables that it took from other papers: no recipe here repeats them."""

from typing import NamedTuple


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
