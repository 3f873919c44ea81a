"""Seeds and orders as pure functions of a few numbers, so that nothing must be remembered."""

import hashlib

import torch
from torch import Tensor


def mix(*numbers: int) -> int:
    """A seed in 0..2^63 - 1 that no other numbers are likely to give.

    >>> mix(0, 1) == mix(0, 1), mix(0, 1) == mix(1, 0)
    (True, False)
    """
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def epoch_order(num: int, seed: int, epoch: int) -> Tensor:
    """The order of `num` samples in an epoch, [num]."""
    return torch.randperm(num, generator=torch.Generator().manual_seed(mix(seed, epoch)))
