"""Which bin of confidence each sample is in: exactly one, whatever its confidence."""

import torch
from torch import Tensor

BINNINGS = ("width", "mass")


def places(sure: Tensor, bins: int, binning: str) -> Tensor:
    """The bin of each confidence, [N], in 0..bins - 1.

    "width": bin b is (b / bins, (b + 1) / bins], the first also holds 0. "mass": by rank; a
    sample's rank is the number of samples below it, so equal confidences are never parted
    (without ties, bin sizes differ by at most one; a large tie leaves bins after it empty).

    >>> sure = torch.tensor([0.0, 0.5, 0.51, 1.0])
    >>> places(sure, 2, "width"), places(sure, 2, "mass")
    (tensor([0, 0, 1, 1]), tensor([0, 0, 1, 1]))
    >>> places(torch.tensor([0.9, 0.9, 0.9, 1.0]), 2, "mass")
    tensor([0, 0, 0, 1])
    """
    if binning == "mass":
        rank = torch.searchsorted(sure.sort().values, sure)  # samples strictly below
        return rank * bins // len(sure)
    # Rows may sum to a little over 1: bucketize puts those into the last bin, too.
    return torch.bucketize(sure, width_edges(bins, sure)[1:-1])


def width_edges(bins: int, like: Tensor) -> Tensor:
    """0, 1 / bins, ... 1, rounded as the confidences are: 0.3 is on the edge in any type.

    >>> width_edges(4, torch.zeros(1))
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return (torch.arange(bins + 1, dtype=torch.float64) / bins).to(like)


def mass_edges(sure: Tensor, place: Tensor, bins: int) -> Tensor:
    """Edges such that bin b holds edges[b] < confidence <= edges[b + 1]; from 0 to 1.

    >>> mass_edges(torch.tensor([0.25, 0.5, 1.0]), torch.tensor([0, 0, 1]), 2)
    tensor([0.0000, 0.5000, 1.0000])
    """
    highest = sure.new_zeros(bins).scatter_reduce(0, place, sure, "amax")
    edges = torch.cat([sure.new_zeros(1), highest.cummax(0).values])
    edges[-1] = 1
    return edges


def sum_by(place: Tensor, values: Tensor, bins: int) -> Tensor:
    """Sum of the values in each bin, [bins] float64.

    >>> sum_by(torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 5.], dtype=torch.float64)
    """
    wide = values.double()
    return wide.new_zeros(bins).index_add_(0, place, wide)
