"""What `SoftLoss` refuses: settings, shapes, devices and values."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_choice, check_integers, describe, refuse
from softaug.label import MixedLabel, SoftLabel
from softaug.online_smoothing import OnlineSmoothing
from softaug.softening import check_num_classes


class LabelParts(NamedTuple):
    """A label of any kind: each part [B], or [B, 2] of a `MixedLabel`."""

    labels: Tensor
    retained: Tensor | None = None  # plain labels have none
    share: Tensor | None = None  # mixed labels only


def check_prior(prior: str | Tensor | Sequence[Any]) -> Tensor | None:
    """The prior as a tensor, or None for the uniform one, which needs no class count."""
    if isinstance(prior, str):
        check_choice("SoftLoss", "prior", prior, ("uniform",))
        return None
    table = torch.as_tensor(prior, dtype=torch.float64)
    square = table.ndim == 2 and table.shape[0] == table.shape[1]
    if not (table.ndim == 1 or square):
        refuse("SoftLoss", 'prior must be "uniform", [C] or [C, C]', describe(table))
    if not bool((table >= 0).all()) or not bool(((table.sum(-1) - 1).abs() < 1e-4).all()):
        remedy = "divide each row by its sum"
        refuse("SoftLoss", "rows of prior must be >= 0 and sum to 1", describe(table), remedy)
    return table.float()


def check_gamma(gamma: Any) -> float:
    """Return `gamma` as a float if it is a finite number of at least 0."""
    number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if not number or not 0 <= float(gamma) < math.inf:
        refuse("SoftLoss", "focal_gamma must be a finite number >= 0", describe(gamma))
    return float(gamma)


def check_base(base: Any, label_smoothing: float) -> OnlineSmoothing | None:
    """Return `base` if it can replace the one-hot label."""
    if not isinstance(base, OnlineSmoothing | None):
        refuse("SoftLoss", "base must be an OnlineSmoothing or None", describe(base))
    if base is not None and label_smoothing > 0:
        rule = "give label_smoothing or base, not both: each says what a hard label becomes"
        refuse("SoftLoss", rule, f"label_smoothing={label_smoothing} and a base")
    return base


def check_table_fits(name: str, table: Tensor, logits: Tensor) -> None:
    """Refuse a table [.., C] of the loss for other classes or on another device."""
    if table.shape[-1] != logits.shape[1]:
        rule = f"{name} must be for the model's {logits.shape[1]} classes"
        refuse("SoftLoss", rule, f"one for {table.shape[-1]}")
    if table.device != logits.device:
        rule = f"{name} must be on the logits' device {logits.device}"
        refuse("SoftLoss", rule, table.device, "move the loss: loss.to(device)")


def check_shapes(logits: Tensor, label: Any) -> LabelParts:
    """The label's parts, each of the right shape, type and device."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) == 0:
        refuse("SoftLoss", "logits must be a non-empty [B, C]", describe(logits))
    if not logits.dtype.is_floating_point:
        refuse("SoftLoss", "logits must be floating point", describe(logits))
    check_num_classes("SoftLoss", logits.shape[1])
    if isinstance(label, MixedLabel):
        return _check_mixed(logits, label)
    if not isinstance(label, SoftLabel):
        return LabelParts(_check_part(logits, "label", label, integer=True))
    labels = _check_part(logits, "label", label.label, integer=True)
    return LabelParts(labels, _check_part(logits, "retained", label.retained, integer=False))


def _check_mixed(logits: Tensor, label: MixedLabel) -> LabelParts:
    labels = _check_part(logits, "labels", label.labels, integer=True, pair=True)
    kept = _check_part(logits, "retained", label.retained, integer=False, pair=True)
    return LabelParts(
        labels, kept, _check_part(logits, "share", label.share, integer=False, pair=True)
    )


def _check_part(
    logits: Tensor, name: str, part: Any, *, integer: bool, pair: bool = False
) -> Tensor:
    expected = (len(logits), 2) if pair else (len(logits),)
    if not isinstance(part, Tensor) or part.shape != expected:
        shape, values = ("[B, 2]", "two values") if pair else ("[B]", "one value")
        rule = f"{name} must be a tensor {shape} with {values} for each of the {len(logits)} logits"
        remedy = "[B, 1] is not broadcast, and labels are class indices, not probabilities"
        refuse("SoftLoss", rule, describe(part), remedy)
    if part.device != logits.device:
        rule = f"{name} must be on the logits' device {logits.device}"
        refuse("SoftLoss", rule, part.device, "use label.to(logits.device)")
    if integer:
        check_integers("SoftLoss", name, part)
    elif not part.dtype.is_floating_point:
        refuse("SoftLoss", f"{name} must be floating point", describe(part))
    return part


def check_values(logits: Tensor, parts: LabelParts) -> None:
    """Refuse labels that are no class, and shares that are none; waits for the device."""
    labels, kept, share = parts
    low, high = (int(bound) for bound in labels.long().aminmax())
    if low < 0 or high >= logits.shape[1]:
        wrong = low if low < 0 else high
        raise ValueError(
            f"SoftLoss: label {wrong} is outside the model's {logits.shape[1]} classes"
        )
    if kept is not None:
        _check_within("retained", kept.detach())
    if share is not None:
        _check_within("share", share.detach())
        _check_whole_share(share.detach())


def _check_within(name: str, values: Tensor) -> None:
    least, most = (float(bound) for bound in values.aminmax())
    if not (least >= 0 and most <= 1):  # also when either is NaN
        outside = ~((values >= 0) & (values <= 1))
        sample = int(outside.nonzero()[0, 0])
        got = f"{float(values[outside][0])} (sample {sample})"
        refuse("SoftLoss", f"{name} must be in [0, 1]", got)


def _check_whole_share(share: Tensor) -> None:
    off = (share.double().sum(1) - 1).abs() > 1e-2  # loose enough for bfloat16
    if bool(off.any()):
        sample = int(off.nonzero()[0, 0])
        got = f"{share[sample].tolist()} (sample {sample})"
        refuse("SoftLoss", "the two shares of each sample must sum to 1", got)


def check_finite(loss: Tensor, logits: Tensor) -> None:
    """Refuse a loss with an infinite or missing value, naming the first sample."""
    if math.isfinite(loss.detach().sum()):  # no sum of infinities or NaNs is finite; cheapest
        return
    if bool(loss.detach().isfinite().all()):  # the sum alone overflowed
        return
    sample = int((~loss.detach().isfinite()).nonzero()[0])
    row = logits[sample].detach()
    got = f"logits from {float(row.min())} to {float(row.max())} (sample {sample})"
    refuse("SoftLoss", "the loss of every sample must be finite", got)
