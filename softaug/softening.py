"""The equations of soft augmentation (facts: Eqs. 4-7 of the paper), pure functions."""

from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from softaug.checks import (
    check_num_classes,
    check_positive,
    check_share,
    check_within,
    describe,
    eager_on_cpu,
    is_float,
    refuse,
)

Number = TypeVar("Number", float, Tensor)


def retained(visible: Number, k: float | Tensor = 2.0) -> Number:
    """Compute the share of the label's information left: 1 for a whole image, 0 for a blank one.

    Larger `k` keeps it high until most of the image is gone; `k=math.inf` is hard
    augmentation: 1 as long as anything is visible. A tensor `k` [B] is each sample's own.

    >>> retained(torch.tensor([1.0, 0.5, 0.0]), k=2)
    tensor([1.0000, 0.7500, 0.0000])
    >>> retained(0.5, k=3)
    0.875
    >>> retained(torch.tensor([0.5, 0.5]), k=torch.tensor([1.0, 2.0]))
    tensor([0.5000, 0.7500])
    """
    if isinstance(k, Tensor):
        _check_own_k(visible, k)
    else:
        check_positive("retained", "k", k, infinite=True)
    _check_shares("retained", "visible", visible)
    return compute_retained(visible, k)


def compute_retained(visible: Number, k: float | Tensor) -> Number:
    """Apply `retained` to values that need no check."""
    lost: Any = (1 - visible) ** k
    share: Number = 1 - lost
    return share


def _check_shares(who: str, name: str, values: Any) -> None:
    """Refuse what is not in 0..1: a number always, a tensor where `eager_on_cpu`."""
    if not isinstance(values, Tensor):
        check_share(who, name, values)
        return
    if values.is_complex() or (values.is_floating_point() and not is_float(values)):
        refuse(who, f"{name} must be of a type that torch computes with", describe(values))
    if eager_on_cpu(values):
        check_within(who, name, values)


def _check_own_k(visible: Any, k: Tensor) -> None:
    if not isinstance(visible, Tensor) or k.shape != visible.shape:
        rule = "k must be a number, or a tensor with one for each visible share"
        refuse("retained", rule, f"{describe(k)} for {describe(visible)}")
    if k.device != visible.device:
        refuse("retained", f"k must be on the device {visible.device} of visible", k.device)
    if eager_on_cpu(k) and not bool((k > 0).all()):  # also where it is NaN
        refuse("retained", "k must be > 0", float(k[~(k > 0)][0]))


def confidence(retained: Number, num_classes: int) -> Number:
    """Compute the true class's probability: chance for a blank image, 1 for a whole one (Eq. 7).

    >>> confidence(torch.tensor([1.0, 0.75, 0.0]), num_classes=10)
    tensor([1.0000, 0.7750, 0.1000])
    >>> confidence(0.0, num_classes=4)
    0.25
    """
    check_num_classes("confidence", num_classes)
    _check_shares("confidence", "retained", retained)
    return compute_confidence(retained, num_classes)


def compute_confidence(retained: Number, num_classes: int) -> Number:
    """Apply `confidence` to values that need no check."""
    chance = 1 / num_classes
    return chance + (1 - chance) * retained


def soften_target(base: Tensor, retained: Tensor, prior: Tensor) -> Tensor:
    """Mix a dense target with a prior: retained * base + (1 - retained) * prior.

    `base` [B, C] holds probabilities, or what is true of each class (multi-label); `retained`
    is [B]; `prior` is what one would guess without the image, [C] for all samples alike or
    [B, C]. Every target of the package follows this rule.

    >>> base = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    >>> soften_target(base, torch.tensor([0.5]), torch.full((4,), 0.25))
    tensor([[0.1250, 0.1250, 0.6250, 0.1250]])
    """
    share = retained.unsqueeze(-1)
    return share * base + (1 - share) * prior


def soft_target(labels: Tensor, retained: Tensor, prior: Tensor) -> Tensor:
    """Apply `soften_target` to the one-hot targets of class indices [B], without building them.

    >>> soft_target(torch.tensor([2]), torch.tensor([0.5]), torch.full((4,), 0.25))
    tensor([[0.1250, 0.1250, 0.6250, 0.1250]])
    """
    share = retained.unsqueeze(-1)
    rest = (1 - share) * prior
    return rest.scatter_add(-1, labels.long().unsqueeze(-1), share.to(rest.dtype))


def uniform_prior(num_classes: int, like: Tensor) -> Tensor:
    """Return chance for every class, [C], with the type and device of `like`."""
    check_num_classes("uniform_prior", num_classes)
    return torch.full((num_classes,), 1 / num_classes, dtype=like.dtype, device=like.device)


WEIGHTINGS = ("sample", "batch_mean", "normalized")


def batch_weights(weights: Tensor, weighting: str) -> Tensor:
    """Return the factor of each sample's loss, [B], given the weight of each sample, [B].

    "sample": each its own (the paper's equation). "batch_mean": the batch's mean weight for
    all (what the authors' release computes). "normalized": each its own, scaled to mean 1.
    Means are over the global batch when several processes train.

    >>> batch_weights(torch.tensor([0.5, 1.0]), "batch_mean")
    tensor([0.7500, 0.7500])
    >>> batch_weights(torch.tensor([0.5, 1.0]), "normalized")
    tensor([0.6667, 1.3333])
    """
    if weighting == "sample":
        return weights
    mean = all_reduce_mean(weights)
    if weighting == "batch_mean":
        return mean.expand_as(weights)
    tiny = torch.finfo(weights.dtype).tiny
    return weights / mean.clamp_min(tiny)  # all-zero weights stay zero, not NaN


def all_reduce_mean(values: Tensor) -> Tensor:
    """Average the values of all processes, a scalar; processes may hold unequal numbers."""
    if not _several():
        return values.mean()
    total = all_reduce_sum(torch.stack([values.sum(), values.new_full((), values.numel())]))
    return total[0] / total[1]


def all_reduce_sum(values: Tensor) -> Tensor:
    """Sum values over all processes, element by element; they call it together.

    A gradient is the sum of what flows back in every process. Where all compute the same loss
    from the sum and average their gradients, as DistributedDataParallel does, that is the
    gradient of this one loss.
    """
    if not _several():
        return values
    total: Tensor = _GlobalSum.apply(values)
    return total


class _GlobalSum(torch.autograd.Function):
    """torch.distributed.nn.functional.all_reduce, which is deprecated."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return _all_reduced(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _all_reduced(gradient)


def _all_reduced(values: Tensor) -> Tensor:
    total = values.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total)
    return total


def is_rank_zero() -> bool:
    """Return whether this process is the first, or the only one."""
    return not _several() or dist.get_rank() == 0


def _several() -> bool:
    return dist.is_available() and dist.is_initialized()
