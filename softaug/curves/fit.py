"""Fitting retained(x) = 1 - loss * x**k to measured shares."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

LEAST_K, MOST_K = 0.25, 16.0
_STEPS = 65  # places of the grid over k in each round
_ROUNDS = 5  # each looks 32 times closer: 64 / 2**25 of the range at the end


class Fitted(NamedTuple):
    """A fitted curve, or as many as there were rows of shares."""

    loss: Tensor  # [...]
    k: Tensor  # [...]


def retained_share(accuracy: Tensor, whole: Tensor, chance: float) -> Tensor:
    """How much of what a network knows of whole images is left, in 0..1.

    1 where it is as accurate as on whole images, 0 where it is down to chance.

    >>> retained_share(torch.tensor([0.8, 0.45, 0.05]), torch.tensor(0.8), chance=0.1)
    tensor([1.0000, 0.5000, 0.0000])
    """
    return ((accuracy - chance) / (whole - chance)).clamp(0, 1)


def binomial_error(accuracy: Tensor, num: Tensor | int) -> Tensor:
    """Standard error of an accuracy over `num` images; never 0, even where all are right.

    As if one more were right and one more wrong.
    """
    share = (accuracy * num + 1) / (num + 2)
    return (share * (1 - share) / (num + 2)).sqrt()


def fit_power(x: Tensor, kept: Tensor, weight: Tensor, loss: float | None = None) -> Fitted:
    """The curve nearest to the shares `kept` [..., L] at `x` [L], by weighted least squares.

    `loss` is in 0..1, or as given; k is in 0.25..16, and 1 where nothing is lost, which any
    k would fit. For a k the best loss is known, so only k is searched for: on a grid over
    its logarithm, which then closes in, the same way every time.

    >>> x = torch.tensor([0.25, 0.5, 0.75, 1.0])
    >>> found = fit_power(x, 1 - 0.5 * x**2, weight=torch.ones(4))
    >>> round(float(found.loss), 4), round(float(found.k), 4)
    (0.5, 2.0)
    """
    x, kept, weight = x.double(), kept.double(), weight.double()
    low = kept.new_full(kept.shape[:-1], math.log(LEAST_K))
    high = torch.full_like(low, math.log(MOST_K))
    steps = torch.linspace(0, 1, _STEPS, dtype=torch.float64)
    for _ in range(_ROUNDS):
        powers = low[..., None] + (high - low)[..., None] * steps  # [..., K]
        miss, _ = _misses(x, kept, weight, powers.exp(), loss)
        best = miss.argmin(-1, keepdim=True)
        low = powers.gather(-1, (best - 1).clamp_min(0))[..., 0]
        high = powers.gather(-1, (best + 1).clamp_max(_STEPS - 1))[..., 0]
    k = powers.exp().gather(-1, best)
    _, found = _misses(x, kept, weight, k, loss)
    lost = found[..., 0]
    return Fitted(lost, torch.where(lost > 0, k[..., 0], 1.0))


def level_weights(x: Tensor, kept: Tensor, error: Tensor, loss: float | None = None) -> Tensor:
    """Weights [..., L] of levels whose shares have the standard errors `error` [..., L].

    1 / (error^2 + misfit^2). Errors are least near chance: with many images those levels alone
    would decide, though no curve of the family goes through all points. So what an evenly
    weighted fit misses them by, beyond their errors, counts as an error of each.
    """
    even = fit_power(x, kept, torch.ones_like(kept), loss)
    missed = kept - (1 - even.loss[..., None] * x ** even.k[..., None])
    freedom = max(1, len(x) - (2 if loss is None else 1))
    excess = (missed**2).sum(-1) / freedom - (error**2).mean(-1)
    return 1 / (error**2 + excess.clamp_min(0)[..., None])


def _misses(
    x: Tensor, kept: Tensor, weight: Tensor, k: Tensor, loss: float | None
) -> tuple[Tensor, Tensor]:
    """Weighted squares [..., K] for each of the k [..., K], with the best loss for it."""
    curve = x ** k[..., None]  # [..., K, L]
    gone, weight = (1 - kept)[..., None, :], weight[..., None, :]
    if loss is None:
        best = (weight * curve * gone).sum(-1) / (weight * curve**2).sum(-1)
        best = best.clamp(0, 1)
    else:
        best = torch.full_like(k, loss)
    return (weight * (gone - best[..., None] * curve) ** 2).sum(-1), best
