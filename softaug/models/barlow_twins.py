"""Barlow Twins (Zbontar et al. 2021): views agree in each dimension, dimensions do not."""

from typing import Any

import torch
from torch import Tensor, nn

from softaug.checks import describe, eager_on_cpu, refuse
from softaug.models.heads import check_widths, perceptron
from softaug.weighting import global_sum

_EPSILON = 1e-5  # added to a variance, as BatchNorm does


class BarlowTwins(nn.Module):
    """A backbone and a projector of three layers of width `hidden` on it.

    `model(first, second)` gives the projections of two views, [B, hidden] each, for
    `barlow_twins_loss`, which scales them itself.
    """

    def __init__(self, backbone: nn.Module, feature_size: int, hidden: int = 2048) -> None:
        super().__init__()
        check_widths("BarlowTwins", feature_size=feature_size, hidden=hidden)
        self.backbone = backbone
        self.projector = nn.Sequential(*perceptron([feature_size, hidden, hidden, hidden]))

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Projections of two views, [B, C, H, W] each."""
        return self.projector(self.backbone(first)), self.projector(self.backbone(second))


def barlow_twins_loss(
    z1: Tensor, z2: Tensor, weights: Tensor | None = None, redundancy: float = 0.005
) -> Tensor:
    """Loss of a batch, a scalar: 0 where the views' cross-correlation is the identity.

    The sum over dimensions of (1 - c_ii)^2, and `redundancy` times the sum of c_ij^2 over pairs
    of different ones. `weights` [B] >= 0 enter the correlation, see `cross_correlation`.
    """
    correlation = cross_correlation(z1, z2, weights)
    agree = correlation.diagonal()
    apart = correlation.square().sum() - agree.square().sum()
    return (1 - agree).square().sum() + redundancy * apart


def cross_correlation(z1: Tensor, z2: Tensor, weights: Tensor | None = None) -> Tensor:
    """Correlation of each dimension of `z1` [B, D] with each of `z2` over the batch, [D, D].

    A pair counts in all means, variances and products by its weight: one of weight 0 might as
    well not be there, one of weight 2 is there twice; only ratios of weights matter. Sums are
    over all processes, which then must call this together; see `global_sum` on gradients.

    >>> z = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> cross_correlation(z, -z).round(decimals=3)
    tensor([[-1.,  0.],
            [ 0., -1.]])
    """
    worth = _check("cross_correlation", z1, z2, weights)[:, None]  # [B, 1]
    both = torch.cat([z1, z2], dim=1).to(worth.dtype)  # [B, 2 D]
    with torch.autocast(z1.device.type, enabled=False):  # else products are in half precision
        return _correlation(both, worth)


def _correlation(both: Tensor, worth: Tensor) -> Tensor:
    sums = global_sum(torch.cat([(worth * both).sum(0), worth.sum(0)]))
    total = torch.where(sums[-1] > 0, sums[-1], 1)  # all-zero weights give no correlation, not NaN
    away = both - sums[:-1] / total
    first, second = away.chunk(2, dim=1)
    products = (worth * first).T @ second
    squares = (worth * away.square()).sum(0)
    means = global_sum(torch.cat([squares, products.flatten()])) / total
    sd1, sd2 = (means[: len(squares)] + _EPSILON).sqrt().chunk(2)
    return means[len(squares) :].view_as(products) / (sd1[:, None] * sd2)


def _check(who: str, z1: Any, z2: Any, weights: Any) -> Tensor:
    """The weight of each pair, [B], at least float32."""
    for name, value in {"z1": z1, "z2": z2}.items():
        if not isinstance(value, Tensor) or value.ndim != 2 or not value.is_floating_point():
            refuse(who, f"{name} must be a floating-point tensor [B, D]", describe(value))
    if z1.shape != z2.shape:
        refuse(who, f"z2 must have the shape of z1, {list(z1.shape)}", describe(z2))
    wide = torch.promote_types(z1.dtype, torch.float32)
    if weights is None:
        return torch.ones(len(z1), dtype=wide, device=z1.device)
    if not isinstance(weights, Tensor) or weights.shape != z1.shape[:1]:
        rule = f"weights must be a tensor [B] with one for each of the {len(z1)} pairs"
        refuse(who, rule, describe(weights))
    if eager_on_cpu(weights) and not bool((weights >= 0).all()):  # also where one is NaN
        refuse(who, "weights must be >= 0", float(weights[~(weights >= 0)][0]))
    return weights.to(wide)
