"""The measured points themselves as a curve: the nearest one that never rises."""

from collections.abc import Sequence

from softaug.transforms.curves import TableCurve

_LEAST_ERROR = 1e-6  # where no image changed its answer; the weight stays finite


def fit_table_curve(
    of: str, x: Sequence[float], kept: Sequence[float], error: Sequence[float]
) -> TableCurve:
    """The shares `kept` at `x` (up to 1), as near as a curve from (0, 1) that never rises gets.

    Each point weighs 1 / error^2.

    >>> fit_table_curve("strength", [0.5, 0.75, 1.0], [0.7, 0.8, 0.1], [0.1, 0.1, 0.1])
    TableCurve(of='strength', lost=(0.0, 0.5, 0.75, 1.0), retained=(1.0, 0.75, 0.75, 0.1))
    """
    weights = [max(e, _LEAST_ERROR) ** -2 for e in error]
    shares = [round(min(max(share, 0.0), 1.0), 4) for share in falling(kept, weights)]
    return TableCurve(of, (0.0, *(round(place, 6) for place in x)), (1.0, *shares))


def falling(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers nearest to `values` that never rise, by weighted least squares.

    Neighbours that rise are pooled into their mean until none do (pool adjacent violators).

    >>> falling([0.9, 0.5, 0.6, 0.1], weights=[1.0, 1.0, 3.0, 1.0])
    [0.9, 0.575, 0.575, 0.1]
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(values, weights, strict=True):
        mean, total, num = value, weight, 1
        while pools and pools[-1][0] < mean:
            before, heavy, many = pools.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, num = heavy + total, many + num
        pools.append((mean, total, num))
    return [mean for mean, _, num in pools for _ in range(num)]
