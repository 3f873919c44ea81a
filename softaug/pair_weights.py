"""Weights of two views of one image, by how much of it both show."""

from typing import Any

import torch
from torch import Tensor

from softaug.checks import (
    check_choice,
    check_positive,
    check_share,
    describe,
    eager_on_cpu,
    is_float,
    refuse,
)
from softaug.softening import all_reduce_mean

MODES = ("SA1", "SA2", "none")


def pair_weight(
    boxes_a: Tensor, boxes_b: Tensor, k: float = 4.0, mode: str = "SA1", p_min: float = 0.0
) -> Tensor:
    """Return the factor of each pair's loss, [B], of mean 1, for the boxes of its views, [B, 4].

    "SA1" trusts views that overlap: p = 1 - (1 - p_min) (1 - IoU)^k (Eq. 9). "SA2" trusts
    views that differ: p = 1 - (1 - p_min) IoU^k (Eq. 10). "none" is 1 for every pair. A box is
    x1, y1, x2, y2 in the image, before any flip. The mean is over the global batch when several
    processes train, which then must call this together. Where every pair's p is 0 (with p_min
    0: no views overlap, or for SA2 all are the same), every pair has weight 1.

    >>> whole = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 4]])
    >>> other = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 2]])  # IoU 1 and 1/2
    >>> pair_weight(whole, other, k=1)
    tensor([1.3333, 0.6667])
    >>> pair_weight(whole, other, k=1, mode="SA2")
    tensor([0., 2.])
    """
    check_choice("pair_weight", "mode", mode, MODES)
    power = check_positive("pair_weight", "k", k)
    least = check_share("pair_weight", "p_min", p_min)
    iou = pair_iou(boxes_a, boxes_b)
    if mode == "none":
        return torch.ones_like(iou)
    missed = 1 - iou if mode == "SA1" else iou
    weights = 1 - (1 - least) * missed**power
    mean = all_reduce_mean(weights)
    return torch.where(mean > 0, weights, 1) / torch.where(mean > 0, mean, 1)


def pair_iou(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Compute shared area / covered area of two boxes, [B]: 1 for equal ones, 0 for disjoint."""
    first, second = _check_boxes("boxes_a", boxes_a), _check_boxes("boxes_b", boxes_b)
    if first.shape != second.shape:
        rule = "boxes_a and boxes_b must hold a box for each pair"
        refuse("pair_weight", rule, f"{len(first)} and {len(second)} boxes")
    top_left = torch.maximum(first[:, :2], second[:, :2])
    bottom_right = torch.minimum(first[:, 2:], second[:, 2:])
    shared = (bottom_right - top_left).clamp(min=0).prod(1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(1) for boxes in (first, second)]
    return shared / (areas[0] + areas[1] - shared)


def _check_boxes(name: str, boxes: Any) -> Tensor:
    """Return the boxes [B, 4] as floats, at least float32."""
    if not isinstance(boxes, Tensor) or boxes.ndim != 2 or boxes.shape[1] != 4:
        refuse("pair_weight", f"{name} must be a tensor [B, 4] of x1, y1, x2, y2", describe(boxes))
    odd = boxes.dtype == torch.bool or boxes.is_complex()
    if odd or (boxes.is_floating_point() and not is_float(boxes)):
        refuse("pair_weight", f"{name} must be whole or floating-point numbers", describe(boxes))
    wide = boxes.to(torch.promote_types(boxes.dtype, torch.float32))
    if not eager_on_cpu(wide):
        return wide
    edges = wide[:, 2:] - wide[:, :2]
    wrong = ~((edges > 0) & edges.isfinite()).all(1)  # also where one is NaN
    if bool(wrong.any()):
        pair = int(wrong.nonzero()[0])
        got = f"{wide[pair].tolist()} (pair {pair})"
        remedy = "a box is x1, y1, x2, y2, not x, y, width, height"
        refuse("pair_weight", f"{name} must have x1 < x2 and y1 < y2", got, remedy)
    return wide
