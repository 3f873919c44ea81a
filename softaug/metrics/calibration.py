"""Does a model's confidence agree with how often it is right?"""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_whole, refuse
from softaug.metrics.scores import check_scores


class Reliability(NamedTuple):
    """Samples grouped by confidence; bin b holds edges[b] < confidence <= edges[b + 1].

    The first bin also holds confidence 0. Empty bins have count, confidence and accuracy 0.
    """

    edges: Tensor  # [bins + 1], from 0 to 1
    count: Tensor  # type: ignore[assignment]  # [bins] int64; hides tuple.count
    confidence: Tensor  # [bins], mean of the samples in the bin
    accuracy: Tensor  # [bins], share of them that are right


def reliability(probs: Tensor, labels: Tensor, bins: int = 10) -> Reliability:
    """Count, mean confidence and accuracy of the samples in equal-width bins of confidence.

    >>> probs = torch.tensor([[0.75, 0.25], [0.875, 0.125], [0.0, 1.0]])
    >>> found = reliability(probs, torch.tensor([0, 1, 1]), bins=2)
    >>> found.count, found.confidence
    (tensor([0, 3]), tensor([0.0000, 0.8750], dtype=torch.float64))
    """
    _check("reliability", probs, labels, bins)
    sure, guess = probs.max(1)
    sure = sure if probs.dtype == torch.float64 else sure.float()
    # Edges are rounded as the confidences are, so that 0.3 is on the edge in any type.
    edges = (torch.arange(bins + 1, dtype=torch.float64) / bins).to(sure)
    # Rows may sum to a little over 1: bucketize puts those into the last bin, too.
    found = torch.bucketize(sure, edges[1:-1])  # [N] in 0..bins - 1
    count = torch.bincount(found, minlength=bins)
    full = count.clamp_min(1)
    confidence = _sum_by(found, sure.double(), bins) / full
    accuracy = _sum_by(found, (guess == labels).double(), bins) / full
    return Reliability(edges, count, confidence, accuracy)


def calibration_error(probs: Tensor, labels: Tensor, bins: int = 10) -> Tensor:
    """Expected calibration error: mean |confidence - accuracy| over the bins, by count.

    A fraction in [0, 1]; 0 where the model is right as often as it says.

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> calibration_error(probs, torch.tensor([0, 1]))
    tensor(0.2500, dtype=torch.float64)
    """
    _check("calibration_error", probs, labels, bins)
    found = reliability(probs, labels, bins)
    gap = (found.confidence - found.accuracy).abs()
    return (gap * found.count).sum() / len(labels)


def _sum_by(group: Tensor, values: Tensor, num_groups: int) -> Tensor:
    return torch.zeros(num_groups, dtype=values.dtype, device=values.device).index_add_(
        0, group, values
    )


def _check(who: str, probs: Tensor, labels: Tensor, bins: int) -> None:
    check_scores(who, "probs", probs, labels)
    check_whole(who, "bins", bins, least=1)
    off = (probs < 0).any(1) | ((probs.double().sum(1) - 1).abs() > 0.01)  # 0.01: bfloat16
    if bool(off.any()):
        row = probs[int(off.nonzero()[0])]
        got = f"a row from {float(row.min()):g} to {float(row.max()):g} with sum {row.sum():g}"
        refuse(who, "rows of probs must be >= 0 and sum to 1", got, "use logits.softmax(1)")
