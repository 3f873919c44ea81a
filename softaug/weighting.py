"""How the samples' weights enter a batch."""

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
    if not (dist.is_available() and dist.is_initialized()):
        return values.mean()
    total = torch.stack([values.sum(), values.new_full((), values.numel())])
    dist.all_reduce(total)
    return total[0] / total[1]
