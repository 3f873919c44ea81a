"""What a pacer remembers of an epoch: sums that stay on the device until it has ended."""

import math
from bisect import bisect_left

import torch
from torch import Tensor

from softaug.checks import check_inside, check_integers, describe, refuse
from softaug.draws import send
from softaug.label import AnyLabel, MixedLabel, SoftLabel
from softaug.pacing.rules import GroupMeans, GroupRule
from softaug.softening import all_reduce_sum, confidence, is_rank_zero

BINS = 10  # of images, by the share that is lost
NUM, RIGHT, GIVEN, ASKED, LOST = range(5)
UNIT = 2**32  # shares are added up as whole numbers of 1 / UNIT: exact, in whatever order


@torch.no_grad()
def measure_batch(
    logits: Tensor, label: AnyLabel, labels: Tensor, k: float = math.inf
) -> tuple[Tensor, Tensor]:
    """Measure each image: five numbers [B, 5] and its bin [B], on the device of `logits`.

    `labels` [B] are the main classes of `label`. `k` is the curve by which it was softened; it
    gives the share of an image that was lost (inf: all are counted as whole).
    """
    probs = logits.softmax(1, dtype=torch.float32)
    predicted = probs.gather(1, labels[:, None])[:, 0]
    target, lost = torch.ones_like(predicted), torch.zeros_like(predicted)
    if isinstance(label, SoftLabel):
        retained = torch.as_tensor(label.retained, dtype=probs.dtype).to(probs.device)
        target = confidence(retained, probs.shape[1])
        if not math.isinf(k):
            lost = (1 - retained).clamp(0, 1) ** (1 / k)  # `retained` solved for it
    elif isinstance(label, MixedLabel):
        target = label.dense(probs.shape[1]).gather(1, labels[:, None])[:, 0]
    correct = (probs.argmax(1) == labels).long()
    # What is no number, in a diverged step, counts 0.
    shares = [(share.nan_to_num(0) * UNIT).round().long() for share in (predicted, target, lost)]
    counts = torch.stack([torch.ones_like(correct), correct, *shares], dim=1)
    return counts, (lost * BINS).long().clamp(0, BINS - 1)


DOUBLING = 1000  # levels are whole thousandths of a doubling, so that all adds up exactly
_SCALES = torch.tensor(
    [2 ** (level / DOUBLING) for level in range(-DOUBLING, DOUBLING + 1)], dtype=torch.float64
)
LEAD_OF_DOUBLING = 0.5  # the lead, in probability, that doubles a strength
# Tenths of a mean that an epoch leaves to the epochs before it. A class shows many images in an
# epoch, a sample only one, which is noisy.
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
        self.sums = torch.zeros(num, LOST, dtype=torch.int64)  # of this epoch
        self._history = torch.zeros_like(self.sums)  # a mean over epochs
        self._levels = torch.zeros(num, dtype=torch.int64)

    @property
    def scales(self) -> Tensor:
        """What each has of the overall strength, [num] float64."""
        return _SCALES[self._levels + DOUBLING]

    def find_rows(self, logits: Tensor, labels: Tensor, sample: Tensor | None) -> Tensor:
        """Return the class or sample that each of a batch is of, [B]; a wrong one is refused."""
        if self.by == "class":
            if logits.shape[1] != self.num:
                refuse("Pacer", f"logits must be of num = {self.num} classes", logits.shape[1])
            return labels
        if not isinstance(sample, Tensor) or sample.shape != labels.shape:
            remedy = "watch(logits, label, sample=index), with the index of the draws' key"
            rule = f'by "sample" must have a sample for each of the {len(labels)} logits'
            refuse("Pacer", rule, describe(sample), remedy)
        check_integers("Pacer", "sample", sample)
        check_inside("Pacer", f"sample must be in 0..{self.num - 1}", sample, self.num)
        return send(sample, logits.device).long()

    def watch(self, counts: Tensor, rows: Tensor) -> None:
        """Add the counts of each image [B, 5] to those of its class or sample [B]."""
        self.sums = self.sums.to(counts.device).index_add_(0, rows, counts[:, :LOST])

    def next_epoch(self, rule: GroupRule, chance: float) -> None:
        """Set the scales for the next epoch; all processes call it overall."""
        new = all_reduce_sum(self.sums).cpu() * _UNITS
        seen, tenths = new[:, NUM] > 0, HISTORY_TENTHS[self.by]
        mean = (tenths * self._history + (10 - tenths) * new) // 10
        self._history.copy_(mean.where(seen[:, None], self._history))
        ahead = rule.ahead(_means(self._history), _means(self._history.sum(0)), chance)
        aim = (DOUBLING * (ahead / LEAD_OF_DOUBLING).clamp(-1, 1)).round().long()
        step = (aim - self._levels).clamp(-self._step, self._step) * seen
        self._levels.copy_(center_levels(self._levels + step))
        self.sums.zero_()

    def state_dict(self) -> dict[str, Tensor]:
        """Return all that the next scales depend on."""
        tables = {"sums": self.sums, "history": self._history, "levels": self._levels}
        return {name: table.clone() for name, table in tables.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state_dict` was taken."""
        self.sums = keep_in_first(state["sums"].clone())
        self._history.copy_(state["history"])
        self._levels.copy_(state["levels"])


def keep_in_first(sums: Tensor) -> Tensor:
    """Return sums of all processes in the first one, zeros in the others."""
    return sums if is_rank_zero() else torch.zeros_like(sums)


def center_levels(levels: Tensor) -> Tensor:
    """Shift levels alike until their mean is 0 (or just below), and clip to one doubling.

    >>> center_levels(torch.tensor([-1100, 0, 900]))
    tensor([-1000,    50,   950])
    """

    def shifted(by: int) -> Tensor:
        return (levels - by).clamp(-DOUBLING, DOUBLING)

    shifts = range(int(levels.min()), int(levels.max()) + 1)
    return shifted(shifts[bisect_left(shifts, 0, key=lambda by: -int(shifted(by).sum()))])


def _means(table: Tensor) -> GroupMeans:
    """Return the means of sums [..., 4]; 0 where there is no image."""
    num = table[..., NUM].clamp_min(1)
    return GroupMeans(*(table[..., column] / num for column in (RIGHT, GIVEN, ASKED)))
