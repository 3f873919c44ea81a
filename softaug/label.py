"""What travels from a soft transform to the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import (
    check_inside,
    check_integers,
    check_num_classes,
    check_share,
    check_within,
    describe,
    eager_on_cpu,
    is_float,
    refuse,
    to_tensor,
)
from softaug.draws import has_float64, send
from softaug.softening import confidence, soft_target, soften_target, uniform_prior


class SoftLabel(NamedTuple):
    """A label and how much of its information the augmentation left.

    `label` holds class indices [B], or probabilities [B, C] (what MixUp made of two labels, or
    0 and 1 for each class of a multi-label problem); `retained` is [B]. One sample has a Python
    int (or probabilities [C]) and a float, which `torch.utils.data.default_collate` turns into
    such a batch. Holds no logic: the loss checks the values.

    >>> label = SoftLabel(torch.tensor([2, 0]), torch.tensor([1.0, 0.5]))
    >>> label.confidence(num_classes=4)
    tensor([1.0000, 0.6250])
    >>> label.dense(num_classes=4)
    tensor([[0.0000, 0.0000, 1.0000, 0.0000],
            [0.6250, 0.1250, 0.1250, 0.1250]])
    """

    label: Tensor | int
    retained: Tensor | float

    def confidence(self, num_classes: int) -> Tensor | float:
        """Return the probability that the target gives to the true class."""
        if isinstance(self.retained, Tensor):
            return confidence(self.retained, num_classes)
        return confidence(float(self.retained), num_classes)

    def dense(self, num_classes: int) -> Tensor:
        """Return target probabilities, [B, C] (or [C] for one sample), for any loss of such.

        The sample's weight is not in them: `SoftLoss(soften="target")` is what they equal. Give
        them to a cross entropy: a Hugging Face model that sees float labels trains with BCE
        unless its loss is replaced (`Trainer(compute_loss_func=...)`).
        """
        who = "SoftLabel.dense"
        check_num_classes(who, num_classes)
        retained = to_tensor(who, "retained", self.retained).float()  # default_collate: float64
        labels = to_tensor(who, "label", self.label, device=retained.device)
        dense = labels.is_floating_point()
        if dense and labels.shape[-1:] != (num_classes,):
            refuse(who, f"probabilities must be of {num_classes} classes", describe(labels))
        if retained.ndim > 1 or labels.shape[: labels.ndim - dense] != retained.shape:
            got = f"{describe(labels)} and {describe(retained)}"
            refuse(who, "label and retained must be of the same [B] samples, or of one", got)
        if not dense:
            check_integers(who, "label", labels)
            check_inside(who, f"label must be in 0..{num_classes - 1}", labels, num_classes)
        if eager_on_cpu(retained):
            check_within(who, "retained", retained)
        prior = uniform_prior(num_classes, like=retained)
        if dense:
            return soften_target(labels.to(retained), retained, prior)
        return soft_target(labels, retained, prior)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> SoftLabel:
        """Move the labels to `device`; one sample's numbers stay as they are."""
        return SoftLabel(*(_send(part, device, non_blocking) for part in self))


class MixedLabel(NamedTuple):
    """Two labels for each sample, as Mixup and CutMix make them; each part is [B, 2].

    `share` is how much of the sample is each image's; a row sums to 1. Target and weight are
    the means of the two images' by it. Holds no logic: the loss checks the values.

    >>> first = SoftLabel(torch.tensor([2]), torch.tensor([0.5]))
    >>> second = SoftLabel(torch.tensor([0]), torch.tensor([1.0]))
    >>> mix_labels(first, second, share=0.75).dense(num_classes=4)
    tensor([[0.3438, 0.0938, 0.4688, 0.0938]])
    """

    labels: Tensor
    retained: Tensor
    share: Tensor

    def dense(self, num_classes: int) -> Tensor:
        """Return target probabilities, [B, C], for any loss that takes them; without the weight."""
        for name, part in self._asdict().items():
            if not isinstance(part, Tensor) or part.ndim != 2 or part.shape != (len(part), 2):
                refuse("MixedLabel.dense", f"{name} must be a tensor [B, 2]", describe(part))
        pair = (SoftLabel(self.labels[:, i], self.retained[:, i]) for i in range(2))
        first, second = (label.dense(num_classes) for label in pair)
        if self.share.shape != self.labels.shape:
            rule = f"share must be [{len(self.labels)}, 2] like labels"
            refuse("MixedLabel.dense", rule, describe(self.share))
        return blend(first, second, self.share.float())

    def to(self, device: torch.device | str, non_blocking: bool = False) -> MixedLabel:
        """Move the labels to `device`."""
        return MixedLabel(*(_send(part, device, non_blocking) for part in self))


def _allow_iterator(kind: Any) -> None:
    """Let `kind(iterator)` build the tuple too, as Hugging Face's Trainer rebuilds tuples."""
    build: Callable[..., Any] = kind.__new__

    @wraps(build)
    def build_from_parts(cls: Any, *parts: Any, **named: Any) -> Any:
        if len(parts) == 1 and isinstance(parts[0], Iterator):
            parts = tuple(parts[0])
        return build(cls, *parts, **named)

    kind.__new__ = build_from_parts


_allow_iterator(SoftLabel)
_allow_iterator(MixedLabel)


def mix_labels(
    first: SoftLabel | Tensor, second: SoftLabel | Tensor, share: Tensor | float
) -> MixedLabel:
    """Mix the labels of samples made of two images each, of which `share` is the first's.

    Labels are batches [B] of equal length, plain integers counting as whole images; `share` is
    a number for all or [B].

    >>> mix_labels(torch.tensor([2, 0]), torch.tensor([0, 1]), share=0.75).share
    tensor([[0.7500, 0.2500],
            [0.7500, 0.2500]])
    """
    labels, retained = check_label_batch("mix_labels", first)
    others, others_retained = check_label_batch("mix_labels", second, len(labels))
    if others.device != labels.device:
        refuse("mix_labels", f"labels must be on one device, {labels.device}", others.device)
    if not isinstance(share, Tensor):
        first_share = torch.full_like(retained, check_share("mix_labels", "share", share))
    elif share.shape not in ((), retained.shape) or not is_float(share):
        refuse("mix_labels", f"share must be a number or [{len(retained)}]", describe(share))
    else:
        first_share = send(share, retained.device).expand(len(retained))
    pairs = (labels, others), (retained, others_retained), (first_share, 1 - first_share)
    return MixedLabel(*(torch.stack(pair, dim=1) for pair in pairs))


def blend(first: Tensor, second: Tensor, share: Tensor) -> Tensor:
    """Average two images' values, [B] or [B, C], by their shares [B, 2]."""
    first_share, second_share = share.view(*share.shape, *[1] * (first.ndim - 1)).unbind(1)
    return first_share * first + second_share * second


def check_label_batch(who: str, label: Any, num: int | None = None) -> tuple[Tensor, Tensor]:
    """Return labels of images to mix, [B] of `num` samples; plain ones are of whole images."""
    labels, retained = label if isinstance(label, SoftLabel) else (label, None)
    if isinstance(label, MixedLabel):
        refuse(who, "images can be mixed once", "labels that are mixed already")
    if not isinstance(labels, Tensor) or labels.shape != (num or labels.numel(),):
        rule = "labels must be [B]" if num is None else f"labels of {num} images must be [B]"
        refuse(who, rule, describe(labels), "pass a batch of class indices or a SoftLabel of them")
    check_integers(who, "labels", labels)
    if retained is None:
        retained = torch.ones(len(labels), device=labels.device)
    if not isinstance(retained, Tensor) or retained.shape != labels.shape:
        refuse(who, "retained must be a batch [B] like the labels", describe(retained))
    if retained.device != labels.device:
        refuse(who, f"retained must be on the labels' device {labels.device}", retained.device)
    return labels, retained


def _send(part: Any, device: torch.device | str, non_blocking: bool) -> Any:
    """Move a tensor; numbers are nowhere."""
    if not isinstance(part, Tensor):
        return part
    if part.dtype == torch.float64 and not has_float64(torch.device(device)):
        part = part.float()
    return part.to(device, non_blocking=non_blocking)


AnyLabel = Tensor | SoftLabel | MixedLabel


def get_main_label(label: AnyLabel) -> Tensor | int:
    """Return the class of each sample; of a mixed one, that with the larger share."""
    if isinstance(label, MixedLabel):
        larger = label.share.argmax(1, keepdim=True)
        return label.labels.gather(1, larger).squeeze(1)
    labels = label.label if isinstance(label, SoftLabel) else label
    if isinstance(labels, Tensor) and labels.ndim == 2 and labels.is_floating_point():
        return labels.argmax(1)
    return labels


def match_labels(
    who: str, logits: Tensor, label: AnyLabel, num_classes: int | None = None
) -> Tensor:
    """Return the main class of each sample, [B], if they fit logits [B, C] of `num_classes`."""
    is_batch = isinstance(logits, Tensor) and logits.ndim == 2
    if not is_batch or logits.shape[1] < 2 or logits.shape[1] != (num_classes or logits.shape[1]):
        refuse(
            who,
            f"logits must be [B, C] of {num_classes or 'two or more'} classes",
            describe(logits),
        )
    labels = get_main_label(label)
    if not isinstance(labels, Tensor) or labels.shape != logits.shape[:1]:
        rule = f"labels must be [B], one for each of the {len(logits)} logits"
        refuse(who, rule, describe(labels))
    check_integers(who, "labels", labels)
    check_inside(who, f"labels must be in 0..{logits.shape[1] - 1}", labels, logits.shape[1])
    return labels.long()
