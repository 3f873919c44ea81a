"""Which classes, or which samples, get more of a strength than others."""

import math
from bisect import bisect_left

import torch
from torch import Tensor

from softaug.pacing import sums
from softaug.pacing.rules import Means, PartsRule
from softaug.weighting import global_sum, is_first_process

DOUBLING = 1000  # levels are whole thousandths of a doubling, so that all adds up exactly
_SCALES = torch.tensor(
    [2 ** (level / DOUBLING) for level in range(-DOUBLING, DOUBLING + 1)], dtype=torch.float64
)
AHEAD = 0.5  # in probability, is worth a doubling
# Tenths of a mean that an epoch leaves to the epochs before it. A class shows many images in an
# epoch, a sample only one, which tells little.
KEPT = {"class": 0, "sample": 7}
_UNITS = torch.tensor([sums.UNIT, sums.UNIT, 1, 1])  # images are counted in the unit of shares


class Parts:
    """A scale for each of `num` classes or samples, within 1/2..2 and of geometric mean 1.

    One that is ahead of all together by a probability of x has 2^(2x) as its aim. After each
    epoch in which it was seen it takes a step of at most `factor` toward it. The tables are
    whole numbers: exact in any order, in any number of processes.
    """

    def __init__(self, by: str, num: int, factor: float) -> None:
        self.by, self.num = by, num
        self._step = max(1, round(DOUBLING * math.log2(factor)))
        self._sums = torch.zeros(num, sums.LOST, dtype=torch.int64)  # of this epoch
        self._history = torch.zeros_like(self._sums)  # a mean over epochs
        self._levels = torch.zeros(num, dtype=torch.int64)

    @property
    def scales(self) -> Tensor:
        """What each has of the overall strength, [num] float64."""
        return _SCALES[self._levels + DOUBLING]

    def watch(self, found: Tensor, part: Tensor) -> None:
        """Add what was found of each image [B, 5] to the part [B] that it is of."""
        self._sums = self._sums.to(found.device)
        self._sums.index_add_(0, part, found[:, : sums.LOST])

    def next_epoch(self, rule: PartsRule, chance: float) -> None:
        """Set the scales for the next epoch; all processes call it together."""
        new = global_sum(self._sums).cpu() * _UNITS
        seen, kept = new[:, sums.NUM] > 0, KEPT[self.by]
        mean = (kept * self._history + (10 - kept) * new) // 10
        self._history.copy_(mean.where(seen[:, None], self._history))
        ahead = rule.ahead(_means(self._history), _means(self._history.sum(0)), chance)
        aim = (DOUBLING * (ahead / AHEAD).clamp(-1, 1)).round().long()
        step = (aim - self._levels).clamp(-self._step, self._step) * seen
        self._levels.copy_(centred(self._levels + step))
        self._sums.zero_()

    def share(self) -> None:
        """Have the first process know what all watched; all call it together."""
        self._sums.copy_(global_sum(self._sums))
        self.leave_to_first()

    def leave_to_first(self) -> None:
        """Forget what was watched in this epoch, but in the first process."""
        if not is_first_process():
            self._sums.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """All that the next scales depend on, in place."""
        return {"sums": self._sums, "history": self._history, "levels": self._levels}


def centred(levels: Tensor) -> Tensor:
    """Levels within one doubling, all shifted alike until their mean is 0 (or just below).

    >>> centred(torch.tensor([0, 100, 200]))
    tensor([-100,    0,  100])
    >>> centred(torch.tensor([-1100, 0, 900]))
    tensor([-1000,    50,   950])
    """

    def shifted(by: int) -> Tensor:
        return (levels - by).clamp(-DOUBLING, DOUBLING)

    shifts = range(int(levels.min()), int(levels.max()) + 1)
    return shifted(shifts[bisect_left(shifts, 0, key=lambda by: -int(shifted(by).sum()))])


def _means(table: Tensor) -> Means:
    """Means of sums [..., 4]; 0 where there is no image."""
    num = table[..., sums.NUM].clamp_min(1)
    columns = (sums.RIGHT, sums.GIVEN, sums.ASKED)
    return Means(*(table[..., column] / num for column in columns))
