"""What an operation leaves of a label, as a curve of its strength or of what it shows."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from softaug.checks import check_choice, check_positive, check_share, describe, refuse
from softaug.draws import send
from softaug.transforms.own_k import own_k

OF = ("strength", "visible")


@dataclass(frozen=True)
class Curve:
    """retained = 1 - loss * x^k, where x is |strength| or the share that is not visible.

    `loss` is what is lost at x = 1; `k` is one number, or one for each class.

    >>> Curve("visible", loss=1.0, k=2.0)(torch.tensor([0.0, 0.5, 1.0]))
    tensor([1.0000, 0.7500, 0.0000])
    """

    of: str
    loss: float
    k: float | tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice("Curve", "of", self.of, OF)
        check_share("Curve", "loss", self.loss)
        if isinstance(self.k, tuple) and not self.k:
            refuse("Curve", "k must be a number or one for each class", "none")
        for k in self.k if isinstance(self.k, tuple) else (self.k,):
            check_positive("Curve", "k", k)

    def __call__(self, x: Tensor, label: Tensor | int | None = None) -> Tensor:
        """What is retained at each x, [B] or [B, n]; one `k` for each class reads `label` [B]."""
        return 1 - self.loss * x ** self._power(x, label)

    def _power(self, x: Tensor, label: Tensor | int | None) -> Tensor | float:
        if not isinstance(self.k, tuple):
            return self.k
        if label is None:
            refuse("Curve", "one k for each class needs the labels", "none")
        return own_k("Curve", self.k, label, like=x).view(-1, *[1] * (x.ndim - 1))


@dataclass(frozen=True)
class TableCurve:
    """`retained` at the points `lost` (increasing from 0 to 1), straight lines between them.

    >>> half = TableCurve("strength", lost=(0.0, 0.5, 1.0), retained=(1.0, 0.8, 0.0))
    >>> half(torch.tensor([0.25, 0.75]))
    tensor([0.9000, 0.4000])
    """

    of: str
    lost: tuple[float, ...]
    retained: tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice("TableCurve", "of", self.of, OF)
        _check_shares("lost", self.lost)
        _check_shares("retained", self.retained)
        if len(self.lost) != len(self.retained) or self.lost[:1] + self.lost[-1:] != (0, 1):
            rule = "lost must run from 0 to 1, with one number of retained for each"
            refuse("TableCurve", rule, f"{self.lost} and {self.retained}")
        if not all(before < after for before, after in pairwise(self.lost)):
            refuse("TableCurve", "lost must increase", self.lost)
        if not all(before >= after for before, after in pairwise(self.retained)):
            remedy = "an operation that loses more cannot leave more"
            refuse("TableCurve", "retained must not increase", self.retained, remedy)

    def __call__(self, x: Tensor, label: Tensor | int | None = None) -> Tensor:
        """What is retained at each x, for all classes alike."""
        lost, kept = _tensor(self.lost, x), _tensor(self.retained, x)
        slope = (kept[1:] - kept[:-1]) / (lost[1:] - lost[:-1])
        piece = torch.searchsorted(lost, x.contiguous(), right=True).clamp(1, len(lost) - 1) - 1
        return kept[piece] + slope[piece] * (x - lost[piece])


AnyCurve = Curve | TableCurve


def left(
    curve: AnyCurve, strength: Tensor, visible: Tensor, label: Tensor | int | None = None
) -> Tensor:
    """What is retained after an operation of this strength that leaves `visible` in frame."""
    return curve(strength.abs() if curve.of == "strength" else 1 - visible, label)


def _check_shares(name: str, numbers: tuple[float, ...]) -> None:
    if not isinstance(numbers, tuple):
        refuse("TableCurve", f"{name} must be a tuple of numbers", describe(numbers))
    for number in numbers:
        check_share("TableCurve", f"each number of {name}", number)


def _tensor(numbers: tuple[float, ...], like: Tensor) -> Tensor:
    return send(torch.tensor(numbers, dtype=like.dtype), like.device)
