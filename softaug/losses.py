"""The loss that turns `retained` into a target and a weight."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import check_choice, check_integers, check_share, describe, refuse
from softaug.label import SoftLabel
from softaug.softening import check_num_classes, confidence, soft_target
from softaug.weighting import WEIGHTINGS, batch_weights

SOFTEN = ("none", "target", "weight", "both")
REDUCTIONS = ("mean", "sum", "none")


class SoftLoss(nn.Module):
    """weight * KL(target || softmax(logits)) for each sample, then reduced.

    `loss(logits [B, C], label)`, with `label` a `SoftLabel`, or plain integers [B], which
    count as whole images: the loss then equals `F.cross_entropy`.

    soften: what `retained` softens: "target" (Eq. 4), "weight" (Eq. 5), "both" (Eq. 6) or
        "none" (hard augmentation).
    weighting: "sample" (the equation), "batch_mean" (the authors' release) or "normalised";
        says how weights enter, so only where `soften` is "weight" or "both". The last two
        take means over all processes, which then must call the loss together.
    prior: where the target's remaining mass goes: "uniform", [C], or [C, C] with a row for
        each true class; rows sum to 1.
    reduction: "mean", "sum" or "none" ([B]).
    validate: check values (label range, retained range, finite loss). None checks tensors on
        the CPU in eager mode only: elsewhere it would wait for the device or break a graph.
    label_smoothing: the paper's alpha: 1 - alpha for the true class, alpha / (C - 1) for the
        others (torch spreads over all C), before softening; the weight never sees it.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    >>> label = SoftLabel(torch.tensor([0, 1]), torch.tensor([1.0, 0.5]))
    >>> SoftLoss(reduction="none")(logits, label)
    tensor([0.1269, 0.0981])
    """

    prior: Tensor | None

    def __init__(
        self,
        soften: str = "both",
        weighting: str = "sample",
        prior: str | Tensor | Sequence[Any] = "uniform",
        reduction: str = "mean",
        validate: bool | None = None,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        check_choice("SoftLoss", "soften", soften, SOFTEN)
        check_choice("SoftLoss", "weighting", weighting, WEIGHTINGS)
        check_choice("SoftLoss", "reduction", reduction, REDUCTIONS)
        if not any(validate is known for known in (None, True, False)):
            refuse("SoftLoss", "validate must be None, True or False", describe(validate))
        self.soften = soften
        self.weighting = weighting
        self.reduction = reduction
        self.validate = validate
        self.label_smoothing = check_share("SoftLoss", "label_smoothing", label_smoothing)
        self.register_buffer("prior", _check_prior(prior), persistent=False)

    def forward(self, logits: Tensor, label: Tensor | SoftLabel) -> Tensor:
        """Loss of a batch."""
        labels, kept = _check_shapes(logits, label)
        if self.prior is not None:
            _check_prior_fits(self.prior, logits)
        validate = self._validates(logits)
        if validate:
            _check_values(logits, labels, kept)
        log_probs = F.log_softmax(logits, dim=1, dtype=_at_least_float32(logits.dtype))
        if kept is not None:
            kept = kept.detach().to(log_probs.dtype)
        loss = self._divergence(log_probs, labels.long(), kept)
        if validate:
            _check_finite(loss, logits)
        if kept is not None and self.soften in ("weight", "both"):
            weights = confidence(kept, logits.shape[1])
            loss = loss * batch_weights(weights, self.weighting)
        return _reduce(loss, self.reduction)

    def _divergence(self, log_probs: Tensor, labels: Tensor, kept: Tensor | None) -> Tensor:
        """KL(target || prediction) of each sample, [B]."""
        if self.soften not in ("target", "both"):
            kept = None
        if kept is None and self.label_smoothing == 0:
            return -_pick(log_probs, labels)
        if kept is None:
            kept = log_probs.new_ones(len(labels))
        if self.prior is None:
            return _divergence_uniform(log_probs, labels, kept, self.label_smoothing)
        prior = self._prior_rows(log_probs, labels)
        target = _smoothed_target(labels, kept, prior, self.label_smoothing)
        return (torch.xlogy(target, target) - target * log_probs).sum(1)

    def _prior_rows(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """The prior of all samples alike, [C], or of each, [B, C]."""
        assert self.prior is not None
        prior = self.prior.to(log_probs.dtype)
        return prior if prior.ndim == 1 else prior[labels]

    def _validates(self, logits: Tensor) -> bool:
        if self.validate is not None:
            return self.validate
        return logits.device.type == "cpu" and not torch.compiler.is_compiling()

    def extra_repr(self) -> str:
        prior = "uniform" if self.prior is None else f"tensor of shape {list(self.prior.shape)}"
        return (
            f"soften={self.soften!r}, weighting={self.weighting!r}, prior={prior!r}, "
            f"reduction={self.reduction!r}, validate={self.validate}, "
            f"label_smoothing={self.label_smoothing}"
        )


def _divergence_uniform(
    log_probs: Tensor, labels: Tensor, kept: Tensor, smoothing: float
) -> Tensor:
    """KL for a uniform prior, without building the [B, C] target: only two masses occur."""
    num_classes = log_probs.shape[1]
    other = kept * (smoothing / (num_classes - 1)) + (1 - kept) / num_classes  # each wrong class
    extra = kept * (1 - smoothing * num_classes / (num_classes - 1))  # true class on top
    true = other + extra
    negentropy = torch.xlogy(true, true) + (num_classes - 1) * torch.xlogy(other, other)
    # The sum stands before the pick, so that in backward the pick's gradient comes first and
    # the sum's is added to it in place: one [B, C] less is allocated and written.
    everything = log_probs.sum(1)
    return negentropy - (extra * _pick(log_probs, labels) + other * everything)


def _smoothed_target(labels: Tensor, kept: Tensor, prior: Tensor, smoothing: float) -> Tensor:
    """Targets [B, C]: the smoothed label's share is `kept`, the rest follows `prior`."""
    if smoothing == 0:
        return soft_target(labels, kept, prior)
    num_classes = prior.shape[-1]
    extra = kept * (1 - smoothing * num_classes / (num_classes - 1))
    base = (kept * (smoothing / (num_classes - 1))).unsqueeze(1)
    rest = (1 - kept).unsqueeze(1) * prior + base
    return rest.scatter_add(1, labels.unsqueeze(1), extra.unsqueeze(1))


def _pick(log_probs: Tensor, labels: Tensor) -> Tensor:
    return log_probs.gather(1, labels.unsqueeze(1)).squeeze(1)


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _at_least_float32(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32


def _check_prior(prior: str | Tensor | Sequence[Any]) -> Tensor | None:
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


def _check_prior_fits(prior: Tensor, logits: Tensor) -> None:
    if prior.shape[-1] != logits.shape[1]:
        rule = f"prior must be for the model's {logits.shape[1]} classes"
        refuse("SoftLoss", rule, f"one for {prior.shape[-1]}")
    if prior.device != logits.device:
        rule = f"prior must be on the logits' device {logits.device}"
        refuse("SoftLoss", rule, prior.device, "move the loss: loss.to(device)")


def _check_shapes(logits: Tensor, label: Any) -> tuple[Tensor, Tensor | None]:
    """The labels and what is retained of them (None for plain labels), each [B]."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) == 0:
        refuse("SoftLoss", "logits must be a non-empty [B, C]", describe(logits))
    if not logits.dtype.is_floating_point:
        refuse("SoftLoss", "logits must be floating point", describe(logits))
    check_num_classes("SoftLoss", logits.shape[1])
    if not isinstance(label, SoftLabel):
        return _check_part(logits, "label", label, integer=True), None
    labels = _check_part(logits, "label", label.label, integer=True)
    return labels, _check_part(logits, "retained", label.retained, integer=False)


def _check_part(logits: Tensor, name: str, part: Any, *, integer: bool) -> Tensor:
    if not isinstance(part, Tensor) or part.shape != logits.shape[:1]:
        rule = f"{name} must be a tensor [B] with one value for each of the {len(logits)} logits"
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


def _check_values(logits: Tensor, labels: Tensor, kept: Tensor | None) -> None:
    low, high = (int(bound) for bound in labels.long().aminmax())
    if low < 0 or high >= logits.shape[1]:
        wrong = low if low < 0 else high
        raise ValueError(
            f"SoftLoss: label {wrong} is outside the model's {logits.shape[1]} classes"
        )
    if kept is None:
        return
    least, most = (float(bound) for bound in kept.detach().aminmax())
    if not (least >= 0 and most <= 1):  # also when either is NaN
        sample = int((~((kept >= 0) & (kept <= 1))).nonzero()[0])
        refuse("SoftLoss", "retained must be in [0, 1]", f"{float(kept[sample])} (sample {sample})")


def _check_finite(loss: Tensor, logits: Tensor) -> None:
    if math.isfinite(loss.detach().sum()):  # no sum of infinities or NaNs is finite; cheapest
        return
    if bool(loss.detach().isfinite().all()):  # the sum alone overflowed
        return
    sample = int((~loss.detach().isfinite()).nonzero()[0])
    row = logits[sample].detach()
    got = f"logits from {float(row.min())} to {float(row.max())} (sample {sample})"
    refuse("SoftLoss", "the loss of every sample must be finite", got)
