"""What a pacer remembers of an epoch: sums that stay on the device until it has ended."""

import math
from bisect import bisect_left

import torch
from torch import Tensor

from softaug.checks import check_inside, check_integers, describe, refuse
from softaug.label import MixedLabel, SoftLabel, get_main_label
from softaug.pacing.rules import GroupMeans, GroupRule
from softaug.softening import all_reduce_sum, confidence, is_rank_zero

BINS = 10  # of augmented images, by the share that is lost; a last row is of held-out images
NUM, RIGHT, GIVEN, ASKED, LOST = range(5)
UNIT = 2**32  # shares are added up as whole numbers of 1 / UNIT: exact, in whatever order

AnyLabel = Tensor | SoftLabel | MixedLabel


def make_sums(device: torch.device | str = "cpu") -> Tensor:
    """Sums of no image: [BINS + 1, 5] int64."""
    return torch.zeros(BINS + 1, 5, dtype=torch.int64, device=device)


@torch.no_grad()
def measure_batch(logits: Tensor, label: AnyLabel, k: float = math.inf) -> tuple[Tensor, Tensor]:
    """Of each image the five numbers [B, 5] and its row [B], on the device of `logits`.

    `k` is the curve by which the labels were softened; it tells what share of an image was
    lost (inf: nothing is known, all are counted as whole).
    """
    labels = _check(logits, label)
    probs = logits.softmax(1, dtype=torch.float32)
    given = probs.gather(1, labels[:, None])[:, 0]
    lost = _lost(label, k, like=given)
    right = (probs.argmax(1) == labels).long()
    shares = [_whole(share) for share in (given, _asked(label, probs), lost)]
    found = torch.stack([torch.ones_like(right), right, *shares], dim=1)
    return found, (lost * BINS).long().clamp(0, BINS - 1)


def sum_by_lost(found: Tensor, row: Tensor, held_out: bool = False) -> Tensor:
    """Sums [BINS + 1, 5] of what `measure_batch` gives, without waiting for the device."""
    row = torch.full_like(row, BINS) if held_out else row
    return make_sums(found.device).index_add_(0, row, found)


def _whole(share: Tensor) -> Tensor:
    """Shares in whole numbers of 1 / UNIT; what is no number, in a diverged step, counts 0."""
    return (share.nan_to_num(0) * UNIT).round().long()


def _asked(label: AnyLabel, probs: Tensor) -> Tensor:
    """What the targets give to the main classes, [B]."""
    num_classes = probs.shape[1]
    if isinstance(label, SoftLabel):
        kept = torch.as_tensor(label.retained, dtype=probs.dtype)
        return confidence(kept.to(probs.device), num_classes)
    if isinstance(label, MixedLabel):
        main = get_main_label(label)
        assert isinstance(main, Tensor)
        return label.dense(num_classes).gather(1, main[:, None])[:, 0]
    return torch.ones_like(probs[:, 0])


def _lost(label: AnyLabel, k: float, like: Tensor) -> Tensor:
    """The share of each image that is not visible, [B]: `retained` solved for it."""
    if not isinstance(label, SoftLabel) or math.isinf(k):
        return torch.zeros_like(like)
    kept = torch.as_tensor(label.retained, dtype=like.dtype)
    return (1 - kept.to(like.device)).clamp(0, 1) ** (1 / k)


def _check(logits: Tensor, label: AnyLabel) -> Tensor:
    """The class of each sample, [B]."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or logits.shape[1] < 2:
        refuse("Pacer", "logits must be [B, C] of two classes or more", describe(logits))
    labels = get_main_label(label)
    if not isinstance(labels, Tensor) or labels.shape != logits.shape[:1]:
        rule = f"labels must be [B], one for each of the {len(logits)} logits"
        refuse("Pacer", rule, describe(labels))
    check_integers("Pacer", "labels", labels)
    num_classes = logits.shape[1]
    rule = f"labels must be in 0..{num_classes - 1}, as there are {num_classes} logits each"
    check_inside("Pacer", rule, labels, num_classes)
    return labels.long()


DOUBLING = 1000  # levels are whole thousandths of a doubling, so that all adds up exactly
_SCALES = torch.tensor(
    [2 ** (level / DOUBLING) for level in range(-DOUBLING, DOUBLING + 1)], dtype=torch.float64
)
LEAD_OF_DOUBLING = 0.5  # in probability, is worth a doubling
# Tenths of a mean that an epoch leaves to the epochs before it. A class shows many images in an
# epoch, a sample only one, which tells little.
HISTORY_TENTHS = {"class": 0, "sample": 7}
_UNITS = torch.tensor([UNIT, UNIT, 1, 1])  # images are counted in the unit of shares


class GroupScales:
    """A scale for each of `num` classes or samples, within 1/2..2 and of geometric mean 1.

    One that is ahead of all overall by a probability of x has 2^(2x) as its aim. After each
    epoch in which it was seen it takes a step of at most `factor` toward it. The tables are
    whole numbers: exact in any order, in any number of processes.
    """

    def __init__(self, by: str, num: int, factor: float) -> None:
        self.by, self.num = by, num
        self._step = max(1, round(DOUBLING * math.log2(factor)))
        self._sums = torch.zeros(num, LOST, dtype=torch.int64)  # of this epoch
        self._history = torch.zeros_like(self._sums)  # a mean over epochs
        self._levels = torch.zeros(num, dtype=torch.int64)

    @property
    def scales(self) -> Tensor:
        """What each has of the overall strength, [num] float64."""
        return _SCALES[self._levels + DOUBLING]

    def watch(self, found: Tensor, part: Tensor) -> None:
        """Add what was found of each image [B, 5] to the part [B] that it is of."""
        self._sums = self._sums.to(found.device)
        self._sums.index_add_(0, part, found[:, :LOST])

    def next_epoch(self, rule: GroupRule, chance: float) -> None:
        """Set the scales for the next epoch; all processes call it overall."""
        new = all_reduce_sum(self._sums).cpu() * _UNITS
        seen, kept = new[:, NUM] > 0, HISTORY_TENTHS[self.by]
        mean = (kept * self._history + (10 - kept) * new) // 10
        self._history.copy_(mean.where(seen[:, None], self._history))
        ahead = rule.ahead(_means(self._history), _means(self._history.sum(0)), chance)
        aim = (DOUBLING * (ahead / LEAD_OF_DOUBLING).clamp(-1, 1)).round().long()
        step = (aim - self._levels).clamp(-self._step, self._step) * seen
        self._levels.copy_(center_levels(self._levels + step))
        self._sums.zero_()

    def share(self) -> None:
        """Have the first process know what all watched; all call it overall."""
        self._sums.copy_(all_reduce_sum(self._sums))
        self.leave_to_first()

    def leave_to_first(self) -> None:
        """Forget what was watched in this epoch, but in the first process."""
        if not is_rank_zero():
            self._sums.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """All that the next scales depend on, in place."""
        return {"sums": self._sums, "history": self._history, "levels": self._levels}


def center_levels(levels: Tensor) -> Tensor:
    """Levels within one doubling, all shifted alike until their mean is 0 (or just below).

    >>> center_levels(torch.tensor([0, 100, 200]))
    tensor([-100,    0,  100])
    >>> center_levels(torch.tensor([-1100, 0, 900]))
    tensor([-1000,    50,   950])
    """

    def shifted(by: int) -> Tensor:
        return (levels - by).clamp(-DOUBLING, DOUBLING)

    shifts = range(int(levels.min()), int(levels.max()) + 1)
    return shifted(shifts[bisect_left(shifts, 0, key=lambda by: -int(shifted(by).sum()))])


def _means(table: Tensor) -> GroupMeans:
    """GroupMeans of sums [..., 4]; 0 where there is no image."""
    num = table[..., NUM].clamp_min(1)
    columns = (RIGHT, GIVEN, ASKED)
    return GroupMeans(*(table[..., column] / num for column in columns))
