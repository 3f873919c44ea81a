"""Setting a transform's strength by how training goes."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_positive, check_share, check_whole, refuse
from softaug.label import MixedLabel, SoftLabel
from softaug.pacing import sums
from softaug.pacing.pacer_checks import (
    build_parts,
    check_auto,
    check_auto_k,
    check_factor,
    check_feedback,
    check_limits,
    check_part,
    check_rule,
    what_is_set,
)
from softaug.pacing.power import fit_k
from softaug.pacing.rules import AccuracyHold, PartsRule, Rule, Seen
from softaug.transforms.base import SoftTransform
from softaug.transforms.paced import By
from softaug.weighting import global_sum, is_first_process

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
        self._own = check_auto(transform)
        start, self.least, self.most = check_limits(transform, first, least, most)
        self.factor = check_factor(factor)
        self.settle = None if settle is None else check_share("Pacer", "settle", settle)
        self.epochs = check_whole("Pacer", "epochs", epochs, least=1)
        self.rule = check_rule(rule)
        self._k = check_auto_k(transform, rule)
        self._parts = build_parts(by, num, rule, factor)
        self._sets = what_is_set(transform)
        first_k = check_positive("Pacer", "first_k", first_k)
        self._own.divide(by, num)  # nothing is refused from here on
        self.epoch = 0  # that have ended
        self.lead: float | None = None  # of the last one
        self._past: list[float] = []  # accuracy in each
        self._num_classes = 0
        self._sums = sums.empty()
        self._set(start, first_k)

    @property
    def by(self) -> str:
        """Who has a strength of its own: "class", "sample", or "all" have one together."""
        return "all" if self._parts is None else self._parts.by

    @property
    def strength(self) -> float:
        """What the transform has now; around it, where classes or samples have their own."""
        return float(self._settled(torch.tensor(self._reached, dtype=torch.float64)))

    @property
    def strengths(self) -> Tensor:
        """What the transform has now, float64: one number [], or one for each [num]."""
        return self._own.read("Pacer", self._sets).clone()

    @property
    def k(self) -> float | None:
        """What the transform has now; None where its k is not the pacer's."""
        return None if self._k is None else float(self._k.read("Pacer", "k"))

    def watch(
        self,
        logits: Tensor,
        label: Tensor | SoftLabel | MixedLabel,
        *,
        sample: Tensor | None = None,
        held_out: bool = False,
    ) -> None:
        """Note what the network made of a batch [B, C]; nothing waits for the device.

        `sample` [B], for `by` "sample" alone, are the places in the training set that the draws'
        keys have as index. `held_out` is for clean images that are not trained on.
        """
        if self._k is not None and isinstance(label, MixedLabel):
            remedy = "give the transform a k, or do not mix"
            refuse("Pacer", 'k "auto" is for labels of one image', "mixed labels", remedy)
        k = math.inf if self._k is None else float(self._k.read("Pacer", "k"))
        found, row = sums.each(logits, label, k)
        if held_out and sample is not None:
            refuse("Pacer", "sample is for images that are trained on", "it with held_out")
        part = None if held_out else check_part(self._parts, logits, label, sample)
        if self._parts is not None and part is not None:
            self._parts.watch(found, part)
        self._sums = self._sums.to(found.device) + sums.summed(found, row, held_out)
        self._num_classes = logits.shape[1]

    def next_epoch(self) -> None:
        """Set the strength for the next epoch; all processes call it together."""
        if self.epoch >= self.epochs:
            refuse("Pacer", f"there are {self.epochs} epochs", "one more", "raise epochs")
        table = global_sum(self._sums).cpu()  # the one wait for the device
        check_feedback(table, self.rule, self.epoch + 1)
        seen = self._seen(table.double())
        self.lead = self.rule.lead(seen)
        k = None if self.k is None else self._next_k(table.double(), self.k, seen.chance)
        if self._parts is not None:
            assert isinstance(self.rule, PartsRule), "build_parts sees to it"
            self._parts.next_epoch(self.rule, seen.chance)
        self.epoch += 1
        self._set(self._next_strength(self.lead), k)
        self._past.append(seen.accuracy)
        self._sums = sums.empty(self._sums.device)

    def share(self) -> None:
        """Have the first process know what all watched; all call it together.

        Only before a `state_dict` within an epoch, and only with several processes.
        """
        total = global_sum(self._sums)
        self._sums = total if is_first_process() else torch.zeros_like(total)
        if self._parts is not None:
            self._parts.share()

    def tables(self) -> dict[str, Tensor]:
        """What is known of each class or sample, in place; nothing where all have one strength."""
        return {} if self._parts is None else self._parts.tensors()

    def state_dict(self) -> dict[str, Any]:
        """All that the next strengths depend on, as plain values, and `tables` if there are any."""
        tables = {name: table.clone() for name, table in self.tables().items()}
        own = {"tables": tables} if tables else {}
        return {
            "pacer": repr(self),
            "epoch": self.epoch,
            "sigma": self._reached,  # called so in checkpoints from when it was always one
            "k": self.k,
            "lead": self.lead,
            "past": list(self._past),
            "num_classes": self._num_classes,
            "sums": self._sums.tolist(),
            **own,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken; that of another pacer is refused."""
        if state["pacer"] != repr(self):
            rule = f"the state must be that of {self}"
            refuse(
                "Pacer", rule, state["pacer"], "make the pacer as it was made then, or begin anew"
            )
        self.epoch, self.lead = state["epoch"], state["lead"]
        self._past = list(state["past"])
        self._num_classes = state["num_classes"]
        kept = torch.tensor(state["sums"])
        self._sums = kept if is_first_process() else torch.zeros_like(kept)  # it is everybody's
        for name, table in self.tables().items():
            table.copy_(state["tables"][name])
        if self._parts is not None:
            self._parts.leave_to_first()
        self._set(state["sigma"], state["k"])

    def __repr__(self) -> str:
        names = ("epochs", "rule", "least", "most", "factor")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        shown += f", settles={self._num_settle}"
        own = "" if self._parts is None else f", by={self.by!r}, num={self._parts.num}"
        return f"Pacer({shown}{own}, sets={self._sets}{'' if self._k is None else ' and k'})"

    def _set(self, strength: float, k: float | None) -> None:
        self._reached = strength
        scales = torch.ones((), dtype=torch.float64) if self._parts is None else self._parts.scales
        self._own.set(self._settled((strength * scales).clamp(self.least, self.most)))
        if self._k is not None and k is not None:
            self._k.set(k)

    def _seen(self, table: Tensor) -> Seen:
        augmented, held = table[: sums.BINS].sum(0), table[sums.BINS]
        num = augmented[sums.NUM] * sums.UNIT
        return Seen(
            progress=(self.epoch + 1) / self.epochs,
            chance=1 / self._num_classes,
            accuracy=float(augmented[sums.RIGHT] / augmented[sums.NUM]),
            given=float(augmented[sums.GIVEN] / num),
            asked=float(augmented[sums.ASKED] / num),
            held_out=float(held[sums.RIGHT] / held[sums.NUM]) if held[sums.NUM] else None,
            past=tuple(self._past),
        )

    @property
    def _num_settle(self) -> int:
        """How many epochs settle: the last ones, but not the first."""
        share, most = (0.1, _MOST_SETTLE) if self.settle is None else (self.settle, self.epochs)
        return min(math.ceil(share * self.epochs - 1e-9), most, self.epochs - 1)

    @property
    def _settles(self) -> bool:
        """Whether the epoch that comes is one of them."""
        return 0 < self._num_settle >= self.epochs - self.epoch

    def _settled(self, strengths: Tensor) -> Tensor:
        """Half of each in the last epochs."""
        return (_SETTLED * strengths).clamp_min(self.least) if self._settles else strengths

    def _next_strength(self, lead: float) -> float:
        if self._settles:
            return self._reached
        step = 1.0 if lead == 0 else self.factor if lead > 0 else 1 / self.factor
        return min(max(self._reached * step, self.least), self.most)

    def _next_k(self, table: Tensor, k: float, chance: float) -> float:
        """A step of `factor` at most toward the k that the accuracies speak for."""
        num, right, *_, lost = table[: sums.BINS].unbind(1)
        some = num.clamp_min(1)
        wanted = fit_k(lost / some / sums.UNIT, right / some, num, chance)
        return k if wanted is None else min(max(wanted, k / self.factor), k * self.factor)
