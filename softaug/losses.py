"""The loss that turns `retained` into a target and a weight."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import check_choice, check_share, describe, refuse
from softaug.label import MixedLabel, SoftLabel, blend
from softaug.online_smoothing import OnlineSmoothing
from softaug.softening import (
    WEIGHTINGS,
    batch_weights,
    check_num_classes,
    confidence,
    soft_target,
    uniform_prior,
)
from softaug.tensor_checks import check_integers, eager_on_cpu


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


SOFTEN = ("none", "target", "weight", "both")
REDUCTIONS = ("mean", "sum", "none")


class SoftLoss(nn.Module):
    """weight * KL(target || softmax(logits)) for each sample, then reduced.

    `loss(logits [B, C], label)`, with `label` a `SoftLabel`; a `MixedLabel`, whose target and
    weight are the means of its two images' by their shares; or plain integers [B], which count
    as whole images: the loss then equals `F.cross_entropy`.

    soften: what `retained` softens: "target" (Eq. 4), "weight" (Eq. 5), "both" (Eq. 6) or
        "none" (hard augmentation).
    weighting: "sample" (the equation), "batch_mean" (the authors' release) or "normalized";
        says how weights enter, so only where `soften` is "weight" or "both". The last two
        take means over all processes, which then must call the loss together.
    prior: where the target's remaining mass goes: "uniform", [C], or [C, C] with a row for
        each true class; rows sum to 1.
    reduction: "mean", "sum" or "none" ([B]).
    validate: check values (label range, retained range, finite loss). None checks tensors on
        the CPU in eager mode only: elsewhere it would wait for the device or break a graph.
    label_smoothing: the paper's alpha: 1 - alpha for the true class, alpha / (C - 1) for the
        others (torch spreads over all C), before softening; the weight never sees it.
    focal_gamma: factor (1 - p) ** gamma on each class's log p (Lin et al. 2017): for a hard
        label the focal loss, and linear in the target. The constant sum(t log t) of KL stays,
        so that 0 is KL; above 0 the loss of a soft target can fall below 0.
    base: `OnlineSmoothing` in place of the one-hot label; not together with `label_smoothing`.

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
        focal_gamma: float = 0.0,
        base: OnlineSmoothing | None = None,
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
        self.focal_gamma = check_gamma(focal_gamma)
        self.base = check_base(base, self.label_smoothing)
        self.register_buffer("prior", check_prior(prior), persistent=False)

    def forward(self, logits: Tensor, label: Tensor | SoftLabel | MixedLabel) -> Tensor:
        """Loss of a batch."""
        parts = check_shapes(logits, label)
        if self.prior is not None:
            check_table_fits("prior", self.prior, logits)
        if self.base is not None:
            check_table_fits("base", self.base.rows, logits)
        validate = self._validates(logits)
        if validate:
            check_values(logits, parts)
        log_probs = F.log_softmax(logits, dim=1, dtype=_at_least_float32(logits.dtype))
        parts = _like(log_probs, parts)
        scores = log_probs if self.focal_gamma == 0 else _focal(log_probs, self.focal_gamma)
        loss = self._divergence(scores, parts)
        if validate:
            check_finite(loss, logits)
        if parts.retained is not None and self.soften in ("weight", "both"):
            weights = _weights(parts.retained, parts.share, logits.shape[1])
            loss = loss * batch_weights(weights, self.weighting)
        return _reduce(loss, self.reduction)

    def _divergence(self, scores: Tensor, parts: LabelParts) -> Tensor:
        """KL(target || prediction) of each sample, [B], given each class's log-probability."""
        labels, kept, share = parts
        if self.soften not in ("target", "both"):
            kept = None
        one_hot = share is None and self.base is None
        if one_hot and kept is None and self.label_smoothing == 0:
            return -_pick(scores, labels)
        if kept is None:
            kept = torch.ones_like(labels, dtype=scores.dtype)
        if one_hot and self.prior is None:
            return _divergence_uniform(scores, labels, kept, self.label_smoothing)
        target = self._mixed_target(scores, labels, kept, share)
        return (torch.xlogy(target, target) - target * scores).sum(1)

    def _mixed_target(
        self, like: Tensor, labels: Tensor, kept: Tensor, share: Tensor | None
    ) -> Tensor:
        """The target of each sample, [B, C]; of two images by their shares."""
        if share is None:
            return self._target(like, labels, kept)
        first, second = (self._target(like, labels[:, i], kept[:, i]) for i in range(2))
        return blend(first, second, share)

    def _target(self, like: Tensor, labels: Tensor, kept: Tensor) -> Tensor:
        """Target of one label a sample, r * base + (1 - r) * prior, [B, C]."""
        prior = self._prior_rows(like, labels)
        if self.base is None:
            return _smoothed_target(labels, kept, prior, self.label_smoothing)
        part = kept.unsqueeze(1)
        return part * self.base.target(labels).to(like.dtype) + (1 - part) * prior

    def _prior_rows(self, like: Tensor, labels: Tensor) -> Tensor:
        """The prior of all samples alike, [C], or of each, [B, C]."""
        if self.prior is None:
            return uniform_prior(like.shape[1], like=like)
        prior = self.prior.to(like.dtype)
        return prior if prior.ndim == 1 else prior[labels]

    def _validates(self, logits: Tensor) -> bool:
        if self.validate is not None:
            return self.validate
        return eager_on_cpu(logits)

    def extra_repr(self) -> str:
        prior = "uniform" if self.prior is None else f"tensor of shape {list(self.prior.shape)}"
        focal = f", focal_gamma={self.focal_gamma}" if self.focal_gamma else ""
        return (
            f"soften={self.soften!r}, weighting={self.weighting!r}, prior={prior!r}, "
            f"reduction={self.reduction!r}, validate={self.validate}, "
            f"label_smoothing={self.label_smoothing}{focal}"
        )


def _focal(log_probs: Tensor, gamma: float) -> Tensor:
    """Log-probabilities that count less, the surer: (1 - p) ** gamma * log p."""
    # Exact near p = 1; the least value keeps the power's slope finite for gamma < 1.
    unsure = (-torch.expm1(log_probs)).clamp_min(torch.finfo(log_probs.dtype).tiny)
    return unsure**gamma * log_probs


def _divergence_uniform(scores: Tensor, labels: Tensor, kept: Tensor, smoothing: float) -> Tensor:
    """KL for a uniform prior, without building the [B, C] target: only two masses occur."""
    num_classes = scores.shape[1]
    other = kept * (smoothing / (num_classes - 1)) + (1 - kept) / num_classes  # each wrong class
    extra = kept * (1 - smoothing * num_classes / (num_classes - 1))  # true class on top
    true = other + extra
    negentropy = torch.xlogy(true, true) + (num_classes - 1) * torch.xlogy(other, other)
    # The sum stands before the pick, so that in backward the pick's gradient comes first and
    # the sum's is added to it in place: one [B, C] less is allocated and written.
    everything = scores.sum(1)
    return negentropy - (extra * _pick(scores, labels) + other * everything)


def _smoothed_target(labels: Tensor, kept: Tensor, prior: Tensor, smoothing: float) -> Tensor:
    """Targets [B, C]: the smoothed label's share is `kept`, the rest follows `prior`."""
    if smoothing == 0:
        return soft_target(labels, kept, prior)
    num_classes = prior.shape[-1]
    extra = kept * (1 - smoothing * num_classes / (num_classes - 1))
    base = (kept * (smoothing / (num_classes - 1))).unsqueeze(1)
    rest = (1 - kept).unsqueeze(1) * prior + base
    return rest.scatter_add(1, labels.unsqueeze(1), extra.unsqueeze(1))


def _like(log_probs: Tensor, parts: LabelParts) -> LabelParts:
    """The label's parts in the type to compute with; no gradient flows into them."""
    kept, share = parts.retained, parts.share
    return LabelParts(
        parts.labels.long(),
        None if kept is None else kept.detach().to(log_probs.dtype),
        None if share is None else share.detach().to(log_probs.dtype),
    )


def _weights(kept: Tensor, share: Tensor | None, num_classes: int) -> Tensor:
    """The weight of each sample, [B]; of two images the mean by their shares."""
    weights = confidence(kept, num_classes)
    return weights if share is None else blend(weights[:, 0], weights[:, 1], share)


def _pick(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(1, labels.unsqueeze(1)).squeeze(1)


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _at_least_float32(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32
