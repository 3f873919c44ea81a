"""The losses that turn `retained` into a target and a weight."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import (
    check_choice,
    check_integers,
    check_not_negative,
    check_num_classes,
    check_share,
    check_switch,
    check_within,
    describe,
    eager_on_cpu,
    is_float,
    refuse,
    to_tensor,
)
from softaug.label import AnyLabel, MixedLabel, SoftLabel, blend
from softaug.online_smoothing import OnlineSmoothing
from softaug.softening import (
    WEIGHTINGS,
    batch_weights,
    compute_confidence,
    soften_target,
    uniform_prior,
)

SOFTEN = ("none", "target", "weight", "both")
REDUCTIONS = ("mean", "sum", "none")


class _WeightedLoss(nn.Module):
    """Base of the losses: which part is softened, how weights enter, how it is reduced."""

    def __init__(self, soften: str, weighting: str, reduction: str, validate: bool | None) -> None:
        super().__init__()
        check_choice(self.name, "soften", soften, SOFTEN)
        check_choice(self.name, "weighting", weighting, WEIGHTINGS)
        check_choice(self.name, "reduction", reduction, REDUCTIONS)
        if validate is not None:
            check_switch(self.name, "validate", validate)
        self.soften = soften
        self.weighting = weighting
        self.reduction = reduction
        self.validate = validate

    @property
    def name(self) -> str:
        return type(self).__name__

    def _validates(self, logits: Tensor) -> bool:
        return eager_on_cpu(logits) if self.validate is None else self.validate

    def _format(self, prior: str) -> str:
        return (
            f"soften={self.soften!r}, weighting={self.weighting!r}, prior={prior}, "
            f"reduction={self.reduction!r}, validate={self.validate}"
        )

    def _weigh_and_reduce(self, loss: Tensor, weights: Tensor | None, logits: Tensor) -> Tensor:
        """Reduce the loss of each sample, [B], times its weight where weights are softened."""
        if self._validates(logits):
            _check_finite(self.name, loss, logits)
        if weights is not None and self.soften in ("weight", "both"):
            loss = loss * batch_weights(weights, self.weighting)
        if self.reduction == "mean":
            return loss.mean()
        return loss.sum() if self.reduction == "sum" else loss


class SoftLoss(_WeightedLoss):
    """Compute weight * KL(target || softmax(logits)) for each sample, then reduce.

    `loss(logits [B, C], label)`, with `label` a `SoftLabel`; a `MixedLabel`, whose target and
    weight are the means of its two images' by their shares; or plain class indices [B] or
    probabilities [B, C], which count as whole images: the loss then equals `F.cross_entropy`
    (of probabilities less their entropy, a constant).

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
    max_suppression: MaxSup (Zhou et al. 2025): this times (top logit - mean logit) is added to the
        loss of each sample, before weights. Label smoothing does so with the true class's logit.

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
        max_suppression: float = 0.0,
    ) -> None:
        super().__init__(soften, weighting, reduction, validate)
        self.label_smoothing = check_share("SoftLoss", "label_smoothing", label_smoothing)
        self.focal_gamma = check_not_negative("SoftLoss", "focal_gamma", focal_gamma)
        if not isinstance(base, OnlineSmoothing | None):
            refuse("SoftLoss", "base must be an OnlineSmoothing or None", describe(base))
        if base is not None and self.label_smoothing > 0:
            rule = "give label_smoothing or base, not both: each says what a hard label becomes"
            refuse("SoftLoss", rule, f"label_smoothing={label_smoothing} and a base")
        self.base = base
        self.max_suppression = check_not_negative("SoftLoss", "max_suppression", max_suppression)
        self.register_buffer("prior", _check_prior(prior), persistent=False)

    def forward(self, logits: Tensor, label: AnyLabel) -> Tensor:
        """Compute the loss of a batch."""
        labels, retained, share = _split_label(self.name, logits, label)
        check_num_classes(self.name, logits.shape[1])
        if self.prior is not None:
            _check_table_fits("prior", self.prior, logits)
        if self.base is not None:
            _check_table_fits("base", self.base.rows, logits)
        if self._validates(logits):
            _check_values(logits, labels, retained, share)
        softened = retained if self.soften in ("target", "both") else None
        loss = self._divergence(logits, labels, softened, share)
        weights = None if retained is None else compute_confidence(retained, logits.shape[1])
        if weights is not None and share is not None:
            weights = blend(weights[:, 0], weights[:, 1], share)
        return self._weigh_and_reduce(loss, weights, logits)

    def _divergence(
        self, logits: Tensor, labels: Tensor, retained: Tensor | None, share: Tensor | None
    ) -> Tensor:
        """Compute KL(target || prediction) of each sample, [B]."""
        dense = labels.is_floating_point()
        one_hot = share is None and self.base is None and not dense
        hard = retained is None and self.label_smoothing == 0
        if retained is None:
            like = labels[:, 0] if dense else labels
            retained = torch.ones_like(like, dtype=torch.promote_types(logits.dtype, torch.float32))
        log_probs = F.log_softmax(logits, 1, dtype=torch.promote_types(logits.dtype, torch.float32))
        scores = log_probs if self.focal_gamma == 0 else _focal(log_probs, self.focal_gamma)
        if one_hot and hard:
            loss = -_pick(scores, labels)
        elif one_hot and self.prior is None:
            loss = _divergence_uniform(scores, labels, retained, self.label_smoothing)
        else:
            target = self._build_target(scores, labels, retained, share)
            loss = (torch.xlogy(target, target) - target * scores).sum(1)
        if self.max_suppression > 0:  # of log-probabilities, which differ by the same
            loss = loss + self.max_suppression * (log_probs.amax(1) - log_probs.mean(1))
        return loss

    def _build_target(
        self, like: Tensor, labels: Tensor, retained: Tensor, share: Tensor | None
    ) -> Tensor:
        """Build targets [B, C] of class indices, of two images' or of probabilities.

        For probabilities base and prior are means over classes by them.
        """
        if share is not None:
            first, second = (
                self._build_target(like, labels[:, i], retained[:, i], None) for i in range(2)
            )
            return blend(first, second, share)
        dense, num_classes = labels.is_floating_point(), like.shape[1]
        alpha, other = self.label_smoothing, self.label_smoothing / (num_classes - 1)
        prior = (
            uniform_prior(num_classes, like) if self.prior is None else self.prior.to(like.dtype)
        )
        if prior.ndim == 2:
            prior = labels @ prior if dense else prior[labels]
        if self.base is not None:
            classes = torch.arange(num_classes, device=like.device) if dense else labels
            base = self.base.target(classes).to(like.dtype)
            return soften_target(labels @ base if dense else base, retained, prior)
        if dense:
            return soften_target(labels * (1 - alpha - other) + other, retained, prior)
        extra = retained * (1 - alpha * num_classes / (num_classes - 1))  # true class on top
        rest = (1 - retained).unsqueeze(1) * prior + (retained * other).unsqueeze(1)
        return rest.scatter_add(1, labels.unsqueeze(1), extra.unsqueeze(1)).clamp_min(0)

    def extra_repr(self) -> str:
        prior = "uniform" if self.prior is None else f"tensor of shape {list(self.prior.shape)}"
        focal = f", focal_gamma={self.focal_gamma}" if self.focal_gamma else ""
        most = f", max_suppression={self.max_suppression}" if self.max_suppression else ""
        return f"{self._format(repr(prior))}, label_smoothing={self.label_smoothing}{focal}{most}"


class SoftBCELoss(_WeightedLoss):
    """Soften the binary cross entropy of a multi-label problem.

    `loss(logits [B, C], label)`, with `label` a `SoftLabel` whose label [B, C] says in 0..1 what
    is true of each class, or such a tensor alone, which counts as whole images: the loss then
    equals `F.binary_cross_entropy_with_logits` (of labels between 0 and 1 less their entropy).
    The target is retained * label + (1 - retained) * prior; `prior` is one number or one for
    each class: how often the class is true in the data. Every class is a choice of two, so the
    weight is (1 + retained) / 2. `soften`, `weighting`, `reduction` ("none" is [B], the mean over
    classes) and `validate` are those of `SoftLoss`.

    >>> label = SoftLabel(torch.tensor([[1.0, 0.0]]), torch.tensor([0.5]))
    >>> loss = SoftBCELoss("weight")  # log 2 for each class, times 3 / 4
    >>> loss(torch.zeros(1, 2), label)
    tensor(0.5199)
    """

    prior: Tensor

    def __init__(
        self,
        soften: str = "both",
        weighting: str = "sample",
        prior: float | Tensor | Sequence[float] = 0.5,
        reduction: str = "mean",
        validate: bool | None = None,
    ) -> None:
        super().__init__(soften, weighting, reduction, validate)
        self.register_buffer("prior", _check_rates(self.name, prior), persistent=False)

    def forward(self, logits: Tensor, label: Tensor | SoftLabel) -> Tensor:
        """Compute the loss of a batch."""
        target, retained, _ = _split_label(self.name, logits, label)
        if isinstance(label, MixedLabel) or not target.is_floating_point():
            rule = "label must be a tensor [B, C], or a SoftLabel with one"
            refuse(self.name, rule, type(label).__name__)
        retained = target.new_ones(len(target)) if retained is None else retained
        if self.prior.ndim == 1:
            _check_table_fits("prior", self.prior, logits, self.name)
        if self._validates(logits):
            check_within(self.name, "label", target)
            check_within(self.name, "retained", retained)
        if self.soften in ("target", "both"):
            target = soften_target(target, retained, self.prior.to(retained.dtype))
        wide = logits.to(retained.dtype)
        surprise = F.binary_cross_entropy_with_logits(wide, target, reduction="none")
        negentropy = torch.xlogy(target, target) + torch.xlogy(1 - target, 1 - target)
        loss = (surprise + negentropy).mean(1)
        return self._weigh_and_reduce(loss, compute_confidence(retained, num_classes=2), logits)

    def extra_repr(self) -> str:
        scalar = self.prior.ndim == 0
        prior = f"{float(self.prior):g}" if scalar else f"tensor of shape {list(self.prior.shape)}"
        return self._format(prior)


def _focal(log_probs: Tensor, gamma: float) -> Tensor:
    """Weigh log-probabilities less, the surer they are: (1 - p) ** gamma * log p."""
    # Exact near p = 1; the least value keeps the power's slope finite for gamma < 1.
    unsure = (-torch.expm1(log_probs)).clamp_min(torch.finfo(log_probs.dtype).tiny)
    return unsure**gamma * log_probs


def _divergence_uniform(
    scores: Tensor, labels: Tensor, retained: Tensor, smoothing: float
) -> Tensor:
    """KL for a uniform prior, without building the [B, C] target: only two masses occur."""
    num_classes = scores.shape[1]
    other = retained * (smoothing / (num_classes - 1)) + (1 - retained) / num_classes
    extra = retained * (1 - smoothing * num_classes / (num_classes - 1))  # true class on top
    true = (other + extra).clamp_min(0)  # smoothing 1 leaves nothing, or less by rounding
    negentropy = torch.xlogy(true, true) + (num_classes - 1) * torch.xlogy(other, other)
    # The sum stands before the pick, so that in backward the pick's gradient comes first and
    # the sum's is added to it in place: one [B, C] less is allocated and written.
    everything = scores.sum(1)
    # A masked class, of score -inf, costs nothing where it has no mass: 0 times it is no number.
    rest = torch.where(other > 0, other * everything, 0)
    return negentropy - (extra * _pick(scores, labels) + rest)


def _pick(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(1, labels.unsqueeze(1)).squeeze(1)


def _split_label(
    who: str, logits: Tensor, label: Any
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return labels, `retained` and share, checked and in the type to compute with.

    Each is [B], or [B, 2] of a `MixedLabel`, which alone has shares; probabilities are [B, C].
    """
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) == 0:
        refuse(who, "logits must be a non-empty [B, C]", describe(logits))
    if not is_float(logits):
        refuse(who, "logits must be floating point", describe(logits))
    if isinstance(label, MixedLabel):
        return (
            _check_part(who, logits, "labels", label.labels, "[B, 2]", floating=False),
            _check_part(who, logits, "retained", label.retained, "[B, 2]"),
            _check_part(who, logits, "share", label.share, "[B, 2]"),
        )
    values = label.label if isinstance(label, SoftLabel) else label
    dense = isinstance(values, Tensor) and values.ndim == 2 and values.is_floating_point()
    shape = "[B, C]" if dense else "[B]"
    labels = _check_part(who, logits, "label", values, shape, floating=dense)
    if not isinstance(label, SoftLabel):
        return labels, None, None
    return labels, _check_part(who, logits, "retained", label.retained, "[B]"), None


_VALUES = {"[B]": "one value", "[B, 2]": "two values", "[B, C]": "one value a class"}


def _check_part(
    who: str, logits: Tensor, name: str, part: Any, shape: str, *, floating: bool = True
) -> Tensor:
    """Return a part in the type to compute with; no gradient flows into it."""
    num, num_classes = logits.shape
    expected = {"[B]": (num,), "[B, 2]": (num, 2), "[B, C]": (num, num_classes)}[shape]
    if not isinstance(part, Tensor) or part.shape != expected:
        rule = f"{name} must be a tensor {shape} with {_VALUES[shape]} for each of the {num} logits"
        remedy = "[B, 1] is not broadcast; labels are class indices [B] or probabilities [B, C]"
        refuse(who, rule, describe(part), remedy)
    if part.device != logits.device:
        rule = f"{name} must be on the logits' device {logits.device}"
        refuse(who, rule, part.device, "use label.to(logits.device)")
    if not floating:
        check_integers(who, name, part)
        return part.long()
    if not is_float(part):
        refuse(who, f"{name} must be floating point", describe(part))
    return part.detach().to(torch.promote_types(logits.dtype, torch.float32))


def _check_values(
    logits: Tensor, labels: Tensor, retained: Tensor | None, share: Tensor | None
) -> None:
    """Refuse labels that are no class, and shares that are none; waits for the device."""
    if labels.is_floating_point():
        check_within("SoftLoss", "probabilities", labels)
        remedy = "a multi-label problem needs SoftBCELoss"
        _check_sums("the probabilities of each sample must sum to 1", labels, remedy)
    else:
        low, high = (int(bound) for bound in labels.aminmax())
        if low < 0 or high >= logits.shape[1]:
            wrong = low if low < 0 else high
            rule = f"label {wrong} is outside the model's {logits.shape[1]} classes"
            raise ValueError(f"SoftLoss: {rule}")
    if retained is not None:
        check_within("SoftLoss", "retained", retained)
    if share is not None:
        check_within("SoftLoss", "share", share)
        _check_sums("the two shares of each sample must sum to 1", share)


def _check_sums(rule: str, rows: Tensor, remedy: str = "") -> None:
    off = (rows.double().sum(1) - 1).abs() > 1e-2  # loose enough for bfloat16
    if bool(off.any()):
        sample = int(off.nonzero()[0, 0])
        refuse("SoftLoss", rule, f"{rows[sample].tolist()} (sample {sample})", remedy)


def _check_finite(who: str, loss: Tensor, logits: Tensor) -> None:
    """Refuse a loss with an infinite or missing value, naming the first sample."""
    loss = loss.detach()
    if math.isfinite(loss.sum()):  # no sum of infinities or NaNs is finite; cheapest
        return
    if bool(loss.isfinite().all()):  # the sum alone overflowed
        return
    sample = int((~loss.isfinite()).nonzero()[0])
    row = logits[sample].detach()
    got = f"logits from {float(row.min())} to {float(row.max())} (sample {sample})"
    refuse(who, "the loss of every sample must be finite", got)


def _check_table_fits(name: str, table: Tensor, logits: Tensor, who: str = "SoftLoss") -> None:
    """Refuse a table [.., C] of the loss for other classes or on another device."""
    if table.shape[-1] != logits.shape[1]:
        rule = f"{name} must be for the model's {logits.shape[1]} classes"
        refuse(who, rule, f"one for {table.shape[-1]}")
    if table.device != logits.device:
        rule = f"{name} must be on the logits' device {logits.device}"
        refuse(who, rule, table.device, "move the loss: loss.to(device)")


def _check_prior(prior: str | Tensor | Sequence[Any]) -> Tensor | None:
    """Return the prior as a tensor, or None for the uniform one, which needs no class count."""
    if isinstance(prior, str):
        check_choice("SoftLoss", "prior", prior, ("uniform",))
        return None
    table = to_tensor("SoftLoss", "prior", prior, dtype=torch.float64)
    square = table.ndim == 2 and table.shape[0] == table.shape[1]
    if not (table.ndim == 1 or square):
        refuse("SoftLoss", 'prior must be "uniform", [C] or [C, C]', describe(table))
    if not bool((table >= 0).all()) or not bool(((table.sum(-1) - 1).abs() < 1e-4).all()):
        remedy = "divide each row by its sum"
        refuse("SoftLoss", "rows of prior must be >= 0 and sum to 1", describe(table), remedy)
    return table.float()


def _check_rates(who: str, prior: Any) -> Tensor:
    """Return how often each class is true, [] or [C]."""
    rates = to_tensor(who, "prior", prior, dtype=torch.float64)
    if rates.ndim > 1 or not bool(((rates >= 0) & (rates <= 1)).all()):
        refuse(who, "prior must be a number in 0..1, or one for each class", describe(prior))
    return rates.float()
