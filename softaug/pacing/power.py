"""Which k the network's own accuracy speaks for."""

import math

import torch
from torch import Tensor

LEAST_K, MOST_K = 0.5, 8.0
_STEPS = 241  # of the grid: each is 1.2 % above the one before


def fit_k(lost: Tensor, accuracy: Tensor, num: Tensor, chance: float) -> float | None:
    """The k of accuracy = chance + knows (1 - lost^k), by least squares weighted by `num`.

    All three are [L]: levels of what was lost of images, the accuracy there and the number of
    images. What the network `knows` of whole images is fitted too. None where fewer than two
    levels have images, or where it knows nothing: any k would do.

    >>> lost = torch.tensor([0.05, 0.25, 0.5, 0.75])
    >>> round(fit_k(lost, 0.1 + 0.8 * (1 - lost**2), torch.ones(4), chance=0.1), 2)
    2.0
    """
    if int((num > 0).sum()) < 2:
        return None
    lost, above, num = lost.double(), accuracy.double() - chance, num.double()
    powers = torch.linspace(math.log(LEAST_K), math.log(MOST_K), _STEPS, dtype=torch.float64).exp()
    left = 1 - lost ** powers[:, None]  # [K, L]
    knows = (num * left * above).sum(1) / (num * left**2).sum(1).clamp_min(1e-12)  # [K]
    misses = (num * (above - knows[:, None] * left) ** 2).sum(1)
    best = int(misses.argmin())
    return float(powers[best]) if knows[best] > 0 else None
