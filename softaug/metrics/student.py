"""Student's t without scipy: the closed form for whole degrees of freedom."""

import math


def t_quantile(level: float, freedom: int) -> float:
    """The t with |T| <= t in a share `level` of cases: 1.96 for 0.95 and many degrees.

    >>> round(t_quantile(0.95, 2), 3), round(t_quantile(0.95, 10_000), 3)
    (4.303, 1.96)
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # bisection to the last bit of the angle
        middle = (low + high) / 2
        low, high = (middle, high) if _central_share(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _central_share(angle: float, freedom: int) -> float:
    """P(|T| <= t) at t = sqrt(freedom) tan(angle); Abramowitz and Stegun 26.7.3 and 26.7.4."""
    odd = freedom % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= square * (power + 1) / (power + 2)
    inner = math.sin(angle) * total
    return 2 / math.pi * (angle + inner) if odd else inner
