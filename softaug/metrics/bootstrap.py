"""Intervals over test images by bootstrap, for one model or two on the same images.

Of a mean the percentiles of its resamples; of anything else they are moved to its value.
Draws are made on the CPU from `seed`, so that every device gives the same interval.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_whole, describe, refuse
from softaug.metrics.statistics import Interval, check_level

Statistic = Callable[[Tensor], Tensor]

_DRAWS = 2**20  # a chunk's: some 30 MB, whatever the numbers of images and resamples


def bootstrap_interval(
    values: Tensor,
    statistic: Statistic | None = None,
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean of one value for each image, and its interval if other images were drawn.

    `values` is [N]: `image_error`, `image_nll`, `image_brier`. For what is not a mean give
    rows [N, F] and a `statistic` that turns means over images [R, F] into [R] numbers:
    `bootstrap_interval(image_gap(probs, labels), summed_gap)` is the calibration error's. A
    resample adds noise to every bin and so to that error; therefore the resamples' median is
    laid on the value, which is always inside. What noise is in the value itself stays, more
    the more the confidences spread: do not judge the difference of two models by it. The
    network stays as it is: nothing is said of other seeds.

    >>> found = bootstrap_interval(torch.tensor([0.0, 1.0] * 50))
    >>> found.value, round(found.low, 1), round(found.high, 1)
    (0.5, 0.4, 0.6)
    """
    who = "bootstrap_interval"
    rows = _rows(who, "values", values, statistic)
    return _interval(who, rows, statistic, level, num_resamples, seed)


def bootstrap_intervals(
    values: Mapping[str, Tensor],
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Interval]:
    """`bootstrap_interval` of several values of the same images, by name, at the cost of one.

    Each is [N]. Every resample takes the same images of all; of two models' values give the
    differences.

    >>> found = bootstrap_intervals({"error": torch.tensor([0.0, 1.0]), "top5": torch.zeros(2)})
    >>> found["error"].value, found["top5"].high
    (0.5, 0.0)
    """
    who = "bootstrap_intervals"
    if not values:
        refuse(who, "values must not be empty", describe(values))
    columns = [_rows(who, f"values of {name}", column, None) for name, column in values.items()]
    for name, column in zip(values, columns, strict=True):
        if len(column) != len(columns[0]):
            rule = f"values of {name} must be of the same {len(columns[0])} images as the first"
            refuse(who, rule, describe(values[name]))
    _check_resampling(who, level, num_resamples, seed)
    rows = torch.cat(columns, 1)
    low, high = _ends(_resampled_means(rows, num_resamples, seed), level)
    ends = zip(rows.mean(0).tolist(), low.tolist(), high.tolist(), strict=True)
    return {
        name: Interval(*found, len(rows), level) for name, found in zip(values, ends, strict=True)
    }


def bootstrap_difference(
    first: Tensor,
    second: Tensor,
    statistic: Statistic | None = None,
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Interval of `first` minus `second`, two models' values of the same images in one order.

    Every resample takes the same images of both. Arguments as in `bootstrap_interval`.

    >>> one, two = torch.tensor([1.0, 0.0, 1.0]), torch.tensor([0.5, -0.5, 0.5])
    >>> bootstrap_difference(one, two)
    Interval(value=0.5, low=0.5, high=0.5, n=3, level=0.95)
    """
    who = "bootstrap_difference"
    ours = _rows(who, "first", first, statistic)
    theirs = _rows(who, "second", second, statistic)
    if ours.shape != theirs.shape:
        remedy = "both models must be measured on the same images"
        refuse(who, f"second must be {list(first.shape)} as first", describe(second), remedy)
    if statistic is None:
        return _interval(who, ours - theirs, None, level, num_resamples, seed)
    columns, measured = ours.shape[1], statistic

    def difference(means: Tensor) -> Tensor:
        return measured(means[:, :columns]) - measured(means[:, columns:])

    return _interval(who, torch.cat([ours, theirs], 1), difference, level, num_resamples, seed)


def _interval(
    who: str,
    rows: Tensor,
    statistic: Statistic | None,
    level: float,
    num_resamples: int,
    seed: int,
) -> Interval:
    _check_resampling(who, level, num_resamples, seed)
    measure = statistic or _only
    value = float(measure(rows.mean(0, keepdim=True)))
    found = measure(_resampled_means(rows, num_resamples, seed))
    if found.shape != (num_resamples,):
        refuse(who, "statistic must turn means [R, F] into [R] numbers", describe(found))
    if statistic is not None:
        found = found - found.quantile(0.5) + value
    low, high = _ends(found, level).tolist()
    return Interval(value, low, high, len(rows), level)


def _check_resampling(who: str, level: float, num_resamples: int, seed: int) -> None:
    check_level(who, level)
    check_whole(who, "num_resamples", num_resamples, least=1)
    check_whole(who, "seed", seed, least=0)


def _ends(found: Tensor, level: float) -> Tensor:
    """Low and high ends, [2, ...], of resampled numbers [R, ...]."""
    tail = (1 - level) / 2
    return found.quantile(found.new_tensor([tail, 1 - tail]), dim=0)


def _resampled_means(rows: Tensor, num_resamples: int, seed: int) -> Tensor:
    """Means [R, F] of N rows drawn with replacement, R times."""
    generator = torch.Generator().manual_seed(seed)
    num = len(rows)
    chunk = max(1, _DRAWS // num)
    means = rows.new_empty(num_resamples, rows.shape[1])
    for part in means.split(chunk):  # type: ignore[no-untyped-call]
        picks = torch.randint(num, (len(part), num), generator=generator)
        # How often each row was picked; one product then sums all columns.
        picks += torch.arange(len(part))[:, None] * num
        times = torch.bincount(picks.flatten(), minlength=len(part) * num)
        torch.matmul(times.view(len(part), num).double(), rows / num, out=part)
    return means


def _rows(who: str, name: str, values: Any, statistic: Statistic | None) -> Tensor:
    """Values as [N, F] float64 on the CPU."""
    ndim = 1 if statistic is None else 2
    if not isinstance(values, Tensor) or values.ndim != ndim or len(values) < 2:
        shape = "[N]" if statistic is None else "[N, F], as there is a statistic,"
        refuse(who, f"{name} must be a tensor {shape} of at least 2 images", describe(values))
    if not bool(values.isfinite().all()):
        image = int((~values.isfinite()).view(len(values), -1).any(1).nonzero()[0])
        refuse(who, f"{name} must be finite", f"{values[image].tolist()} (image {image})")
    return values.detach().cpu().double().view(len(values), -1)


def _only(means: Tensor) -> Tensor:
    """The one column of means [R, 1]."""
    return means[:, 0]
