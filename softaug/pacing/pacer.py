"""Setting a transform's strength by how training goes."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_choice, check_positive, check_share, check_whole, describe, refuse
from softaug.label import AnyLabel, MixedLabel, match_labels
from softaug.pacing.rules import AccuracyHold, EpochStats, GroupRule, Rule, fit_k
from softaug.pacing.statistics import (
    ASKED,
    BINS,
    GIVEN,
    NUM,
    RIGHT,
    UNIT,
    GroupScales,
    keep_in_first,
    measure_batch,
)
from softaug.softening import all_reduce_sum
from softaug.transforms.base import SoftTransform
from softaug.transforms.strength import BY, SIGMA, By, Paceable, Paced

_HOLD = AccuracyHold()
_SETTLED = 0.5  # of the strength that was reached
_MOST_SETTLE = 4  # epochs: more with nearer crops teach images by heart


class Pacer:
    """Raises a transform's strength after epochs that went well by `rule`, or lowers it.

    The strength is what the transform has as "auto": the sigma of a `SoftCrop`, the `strength`
    of a `SoftErase`. One change is by `factor`, from `first`, within `least` and `most` (None:
    the transform's own range, from its low end); the last epochs, a share `settle` of all
    (rounded up, but not the first; None: a tenth, four at most), have half of what was reached,
    but no less than `least`.
    A k that is "auto" too begins at `first_k` and follows the network's accuracy on images of
    which more or less is visible (with `ConfidenceMatch`).
    Several processes add up what they watched and have the same strength. `by` "class" or
    "sample" gives each of `num` classes or training samples its own, from a half to twice the
    overall one. The loop has two lines for it:

    >>> from softaug import SoftCrop
    >>> crop = SoftCrop(sigma="auto")
    >>> pacer = Pacer(crop, epochs=12)
    >>> labels, sigmas = torch.arange(3), []
    >>> for epoch in range(12):
    ...     sigmas.append(round(pacer.strength, 3))
    ...     images, label = crop(torch.ones(3, 3, 8, 8), labels)
    ...     logits = torch.eye(3) if epoch > 5 else torch.ones(3, 3)  # learned half way
    ...     pacer.watch(logits, label)  # after each batch
    ...     pacer.next_epoch()  # after each epoch
    >>> sigmas[6:]
    [0.05, 0.065, 0.085, 0.11, 0.055, 0.055]
    """

    def __init__(
        self,
        transform: SoftTransform[Any],
        epochs: int,
        rule: Rule = _HOLD,
        *,
        by: By = "all",
        num: int | None = None,
        first: float | None = None,
        least: float | None = None,
        most: float | None = None,
        factor: float = 1.3,
        settle: float | None = None,
        first_k: float = 2.0,
    ) -> None:
        own, self._own = _check_auto(transform)
        start, self.least, self.most = _check_limits(transform.name, own, first, least, most)
        self.factor = check_positive("Pacer", "factor", factor)
        if self.factor <= 1:
            refuse("Pacer", "factor must be above 1", factor)
        self.settle = None if settle is None else check_share("Pacer", "settle", settle)
        self.epochs = check_whole("Pacer", "epochs", epochs, least=1)
        if isinstance(rule, type) or not isinstance(rule, Rule):
            remedy = "such as softaug.pacing.AccuracyHold()"
            refuse("Pacer", "rule must be a rule of softaug.pacing", describe(rule), remedy)
        self.rule = rule
        self._k = transform.k if isinstance(transform.k, Paced) else None
        if self._k is not None and not getattr(rule, "finds_k", False):
            remedy = "use ConfidenceMatch, or give the transform a k"
            refuse("Pacer", 'k "auto" must have a rule that finds one', rule, remedy)
        self._groups = _build_groups(by, num, rule, factor)
        # In words: a sigma, of whatever transform, or the strength of this one.
        self._sets = own.name if own == SIGMA else f"{own.name} of {transform.name}"
        first_k = check_positive("Pacer", "first_k", first_k)
        self._own.divide(by, num)  # nothing is refused from here on
        self.epoch = 0  # that have ended
        self.lead: float | None = None  # of the last one
        self._past: list[float] = []  # accuracy in each
        self._num_classes = 0
        self._sums = torch.zeros(BINS, 5, dtype=torch.int64)
        self._set(start, first_k)

    @property
    def by(self) -> str:
        """Who has a strength of its own: "class", "sample", or "all" have one overall."""
        return "all" if self._groups is None else self._groups.by

    @property
    def strength(self) -> float:
        """What the transform has now; around it, where classes or samples have their own."""
        return float(self._settled(torch.tensor(self._reached, dtype=torch.float64)))

    @property
    def strengths(self) -> Tensor:
        """The transform's strengths now, float64: one number [], or one for each [num]."""
        return self._own.read("Pacer", self._sets).clone()

    @property
    def k(self) -> float | None:
        """What the transform has now; None where its k is not the pacer's."""
        return None if self._k is None else float(self._k.read("Pacer", "k"))

    def watch(self, logits: Tensor, label: AnyLabel, *, sample: Tensor | None = None) -> None:
        """Note what the network made of a batch [B, C]; nothing waits for the device.

        `sample` [B], for `by` "sample" alone, are the indices in the training set that the draws'
        keys have as index.
        """
        labels = match_labels("Pacer", logits, label)
        if isinstance(label, MixedLabel) and (self._k is not None or self.by == "sample"):
            rule = 'k "auto"' if self._k is not None else 'by "sample"'
            refuse("Pacer", f"{rule} is for labels of one image", "mixed labels", "do not mix")
        if sample is not None and self.by != "sample":
            refuse("Pacer", 'sample is for by "sample"', f'it with by "{self.by}"')
        counts, bins = measure_batch(logits, label, labels, math.inf if self.k is None else self.k)
        if self._groups is not None:
            self._groups.watch(counts, self._groups.find_rows(logits, labels, sample))
        self._sums = self._sums.to(counts.device).index_add_(0, bins, counts)
        self._num_classes = logits.shape[1]

    def next_epoch(self) -> None:
        """Set the strength for the next epoch; all processes call it overall."""
        if self.epoch >= self.epochs:
            refuse("Pacer", f"there are {self.epochs} epochs", "one more", "raise epochs")
        table = all_reduce_sum(self._sums).cpu().double()  # the one wait for the device
        if not table[:, NUM].any():
            remedy = "call watch(logits, label) after each batch, before next_epoch()"
            got = f"nothing in epoch {self.epoch + 1}"
            refuse("Pacer", "each epoch must be watched", got, remedy)
        stats = self._summarize(table.sum(0))
        self.lead = self.rule.lead(stats)
        k = None if self.k is None else self._next_k(table, self.k, stats.chance)
        if self._groups is not None:
            assert isinstance(self.rule, GroupRule), "_build_groups sees to it"
            self._groups.next_epoch(self.rule, stats.chance)
        self.epoch += 1
        self._set(self._next_strength(self.lead), k)
        self._past.append(stats.accuracy)
        self._sums.zero_()

    def share(self) -> None:
        """Have the first process know what all watched; all call it overall.

        Only before a `state_dict` within an epoch, and only with several processes.
        """
        self._sums = keep_in_first(all_reduce_sum(self._sums))
        if self._groups is not None:
            self._groups.sums = keep_in_first(all_reduce_sum(self._groups.sums))

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next strengths depend on: plain values, and tables by group."""
        state = {
            "pacer": repr(self),
            "epoch": self.epoch,
            "sigma": self._reached,  # called so in checkpoints from when it was always one
            "k": self.k,
            "lead": self.lead,
            "past": list(self._past),
            "num_classes": self._num_classes,
            "sums": self._sums.tolist(),
        }
        return state if self._groups is None else {**state, "tables": self._groups.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken; that of another pacer is refused."""
        if state["pacer"] != repr(self):
            remedy = "make the pacer as it was made then, or begin anew"
            refuse("Pacer", f"the state must be that of {self}", state["pacer"], remedy)
        self.epoch, self.lead = state["epoch"], state["lead"]
        self._past = list(state["past"])
        self._num_classes = state["num_classes"]
        # Older states have a last row, of images that were not trained on.
        self._sums = keep_in_first(torch.tensor(state["sums"])[:BINS])
        if self._groups is not None:
            self._groups.load_state_dict(state["tables"])
        self._set(state["sigma"], state["k"])

    def __repr__(self) -> str:
        names = ("epochs", "rule", "least", "most", "factor")
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        own = "" if self._groups is None else f", by={self.by!r}, num={self._groups.num}"
        sets = f"sets={self._sets}{'' if self._k is None else ' and k'}"
        return f"Pacer({settings}, settles={self._num_settle}{own}, {sets})"

    def _set(self, strength: float, k: float | None) -> None:
        self._reached = strength
        unit = torch.ones((), dtype=torch.float64)
        scales = unit if self._groups is None else self._groups.scales
        self._own.set(self._settled((strength * scales).clamp(self.least, self.most)))
        if self._k is not None and k is not None:
            self._k.set(k)

    def _summarize(self, sums: Tensor) -> EpochStats:
        num = sums[NUM] * UNIT
        return EpochStats(
            progress=(self.epoch + 1) / self.epochs,
            chance=1 / self._num_classes,
            accuracy=float(sums[RIGHT] / sums[NUM]),
            confidence=float(sums[GIVEN] / num),
            target_confidence=float(sums[ASKED] / num),
            past_accuracy=tuple(self._past),
        )

    @property
    def _num_settle(self) -> int:
        """How many epochs settle: the last ones, but not the first."""
        share, most = (0.1, _MOST_SETTLE) if self.settle is None else (self.settle, self.epochs)
        return min(math.ceil(share * self.epochs - 1e-9), most, self.epochs - 1)

    @property
    def _settles(self) -> bool:
        """Tell whether the epoch that comes is one of them."""
        return 0 < self._num_settle >= self.epochs - self.epoch

    def _settled(self, strengths: Tensor) -> Tensor:
        """Halve each strength in the last epochs."""
        return (_SETTLED * strengths).clamp_min(self.least) if self._settles else strengths

    def _next_strength(self, lead: float) -> float:
        if self._settles:
            return self._reached
        step = 1.0 if lead == 0 else self.factor if lead > 0 else 1 / self.factor
        return min(max(self._reached * step, self.least), self.most)

    def _next_k(self, table: Tensor, k: float, chance: float) -> float:
        """Step by at most `factor` toward the k that fits the accuracies."""
        num, right, *_, lost = table.unbind(1)
        at_least_one = num.clamp_min(1)
        wanted = fit_k(lost / at_least_one / UNIT, right / at_least_one, num, chance)
        return k if wanted is None else min(max(wanted, k / self.factor), k * self.factor)


def _check_auto(transform: Any) -> tuple[Paceable, Paced]:
    """Return the setting that is the transform's strength, and what it is set by."""
    if not isinstance(transform, SoftTransform) or transform.paceable is None:
        remedy = 'such as SoftCrop(sigma="auto"); its class must name it as paceable'
        rule = "the transform must be a soft one with a strength to set"
        refuse("Pacer", rule, type(transform).__name__, remedy)
    strength = getattr(transform, transform.paceable.name)
    if not isinstance(strength, Paced):
        refuse("Pacer", f'{transform.paceable.name} of {transform.name} must be "auto"', strength)
    return transform.paceable, strength


def _check_limits(
    name: str, own: Paceable, first: float | None, least: float | None, most: float | None
) -> tuple[float, float, float]:
    """Return first, least and most, else the transform's own; refuse a first outside."""
    low = check_positive("Pacer", "least", own.least if least is None else least)
    high = check_positive("Pacer", "most", own.most if most is None else most)
    if low > high:
        rule = f"least must be at most {high:g}, which most is"
        refuse("Pacer", rule, low, f"{name} has {own.least:g} and {own.most:g}")
    if high > own.limit:
        refuse("Pacer", f"most must be at most {own.limit:g} for {own.name} of {name}", most)
    start = min(max(own.least, low), high) if first is None else first
    if not low <= check_positive("Pacer", "first", start) <= high:
        refuse("Pacer", f"first must be in {low:g}..{high:g}", first)
    return float(start), low, high


def _build_groups(by: str, num: int | None, rule: Rule, factor: float) -> GroupScales | None:
    """Build what each class or sample has of its own; None where all have one strength."""
    check_choice("Pacer", "by", by, BY)
    if by == "all":
        if num is not None:
            refuse("Pacer", 'num is for by "class" or "sample"', num)
        return None
    if num is None:
        what = "classes" if by == "class" else "training samples"
        refuse("Pacer", f'by "{by}" must have a num', None, f"give the number of {what}")
    if not isinstance(rule, GroupRule):
        remedy = "use AccuracyHold or ConfidenceMatch"
        refuse("Pacer", f'by "{by}" must have a rule that separates them', rule, remedy)
    return GroupScales(by, check_whole("Pacer", "num", num, least=2), factor**0.5)
