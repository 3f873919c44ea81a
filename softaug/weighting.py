"""How the samples' weights enter a batch."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

WEIGHTINGS = ("sample", "batch_mean", "normalised")


def batch_weights(weights: Tensor, weighting: str) -> Tensor:
    """The factor of each sample's loss, [B], given the weight of each sample, [B].

    "sample": each its own (the paper's equation). "batch_mean": the batch's mean weight for
    all (what the authors' release computes). "normalised": each its own, scaled to mean 1.
    Means are over the global batch when several processes train.

    >>> batch_weights(torch.tensor([0.5, 1.0]), "batch_mean")
    tensor([0.7500, 0.7500])
    >>> batch_weights(torch.tensor([0.5, 1.0]), "normalised")
    tensor([0.6667, 1.3333])
    """
    if weighting == "sample":
        return weights
    mean = global_mean(weights)
    if weighting == "batch_mean":
        return mean.expand_as(weights)
    tiny = torch.finfo(weights.dtype).tiny
    return weights / mean.clamp_min(tiny)  # all-zero weights stay zero, not NaN


def global_mean(values: Tensor) -> Tensor:
    """Mean over the values of all processes, a scalar; processes may hold unequal numbers."""
    if not _several():
        return values.mean()
    total = global_sum(torch.stack([values.sum(), values.new_full((), values.numel())]))
    return total[0] / total[1]


def global_sum(values: Tensor) -> Tensor:
    """Sum over all processes of the values that each holds in a place; they call it together.

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


def is_first_process() -> bool:
    """Whether this process is the first, or the only one."""
    return not _several() or dist.get_rank() == 0


def _several() -> bool:
    return dist.is_available() and dist.is_initialized()
