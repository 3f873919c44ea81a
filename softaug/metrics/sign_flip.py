"""Paired permutation test: could the differences as well have the other sign?"""

from collections.abc import Sequence

import torch
from torch import Tensor

from softaug.checks import check_whole, describe, refuse

_DRAWS = 2**21


def sign_flip_test(
    differences: Sequence[float] | Tensor, num_flips: int = 9999, seed: int = 0
) -> float:
    """Two-sided p of paired differences: how often random signs give a mean as far from 0.

    Exact over all 2^n signs where those are at most `num_flips` (n <= 13), else from that
    many random ones, the observed one counted in. It takes nothing to be normal, but n seeds
    can give no p below 2 / 2^n: 0.25 for 3, 0.0625 for 5. For differences of right and wrong
    over images it is McNemar's exact test.

    >>> sign_flip_test([0.3, 0.1, 0.2])
    0.25
    >>> sign_flip_test([0.3, -0.1, 0.2])
    0.5
    """
    check_whole("sign_flip_test", "num_flips", num_flips, least=1)
    given = differences.detach().cpu() if isinstance(differences, Tensor) else differences
    values = torch.as_tensor(given, dtype=torch.float64)
    if values.ndim != 1 or len(values) == 0 or not bool(values.isfinite().all()):
        rule = "differences must be a non-empty list of finite numbers"
        refuse("sign_flip_test", rule, describe(differences))
    values = values[values != 0]  # their sign does not matter
    if len(values) < num_flips.bit_length():  # 2^n <= num_flips
        signs = _all_signs(len(values))
        return _as_far(values, signs) / len(signs)
    generator = torch.Generator().manual_seed(seed)
    rows = max(1, _DRAWS // len(values))
    found = 1
    for start in range(0, num_flips, rows):
        shape = (min(rows, num_flips - start), len(values))
        bits = torch.randint(2, shape, generator=generator, dtype=torch.int8)
        found += _as_far(values, bits)
    return found / (num_flips + 1)


def _all_signs(num: int) -> Tensor:
    """Every row of `num` zeros and ones, [2^num, num]."""
    return torch.arange(2**num)[:, None] >> torch.arange(num) & 1


def _as_far(values: Tensor, bits: Tensor) -> int:
    """Rows of signs (0 is minus) under which |sum| is at least the observed, but for rounding."""
    sums = 2 * (bits.double() @ values) - values.sum()
    slack = 1e-9 * float(values.abs().sum())
    return int((sums.abs() >= values.sum().abs() - slack).sum())
