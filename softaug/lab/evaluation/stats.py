"""What a handful of seeds and a test set can show: means, intervals and verdicts.

Two sources of chance are separate. Over *seeds*: would the method do it again? Student's t
on differences paired by seed. Over *images*: would these two trained networks differ on other
images of the kind? The bootstrap.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
from scipy.special import stdtrit
from torch import Tensor

from softaug.checks import check_whole, describe, refuse
from softaug.lab.schema import Estimate as Estimate
from softaug.lab.schema import Interval, Verdict, Word

_ROUNDING = 1e-9  # of a mean: equal differences of shares have such an s.e., or 0


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and its standard error: the sample sd over the root of n.

    A NaN among the values (a diverged run) makes both NaN: it is not left out.

    >>> estimate([1.0, 2.0, 3.0])
    Estimate(mean=2.0, se=0.5773502691896258, n=3)
    """
    n = len(values)
    if n == 0:
        refuse("estimate", "values must not be empty", describe(values))
    wide = torch.tensor(values, dtype=torch.float64)
    se = float(wide.std()) / math.sqrt(n) if n > 1 else None
    return Estimate(float(wide.mean()), se, n)


def paired_difference(
    first: Mapping[Hashable, float], second: Mapping[Hashable, float]
) -> Estimate:
    """Subtract `second` from `first`, each {seed: value}, over the seeds that both have.

    Pairing takes out what a seed does to both (initial weights, order of the images).

    >>> paired_difference({0: 1.0, 1: 3.0, 2: 9.0}, {0: 0.5, 1: 2.0})
    Estimate(mean=0.75, se=0.25, n=2)
    """
    common = [seed for seed in first if seed in second]
    if not common:
        got = f"{list(first)[:5]} and {list(second)[:5]}"
        refuse("paired_difference", "both must have a seed in common", got)
    return estimate([first[seed] - second[seed] for seed in common])


def seed_interval(estimated: Estimate, level: float = 0.95) -> Interval:
    """Compute Student's t interval of a mean over at least two seeds.

    >>> interval = seed_interval(Estimate(1.0, 0.1, 3))
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.5697, 1.4303)
    """
    check_level("seed_interval", level)
    if estimated.se is None:
        remedy = "one seed has no spread: run more, or use an interval over images"
        refuse("seed_interval", "an interval over seeds needs at least 2", estimated.n, remedy)
    half_width = float(stdtrit(estimated.n - 1, (1 + level) / 2)) * estimated.se
    return Interval(
        estimated.mean, estimated.mean - half_width, estimated.mean + half_width, estimated.n, level
    )


def verdict(
    by_seed: Estimate | None = None,
    by_image: Interval | None = None,
    *,
    higher_is_better: bool = False,
) -> Verdict:
    """Judge better or worse if the 95 % interval of the paired difference excludes 0.

    The difference is the arm minus the baseline. With two seeds or more it is judged over seeds
    alone (`paired_difference`, Student's t); with fewer over images (`bootstrap_intervals` of
    differences), if that is given; else nothing is tested. Seeds that all
    differ by the same amount do not show their spread: they count as fewer.

    Limits. "No difference shown" is not "equal": with 2 seeds a difference must be 12.7, with
    3 seeds 4.3 standard errors to show. Student's t takes differences to be about normal. Of
    20 comparisons of equal models one will seem to differ. Over images only, the verdict is
    about two trained networks, not about their recipes: another seed may turn it.

    >>> verdict(Estimate(-0.02, 0.002, 3)).word
    'better'
    >>> print(verdict(Estimate(-0.02, 0.005, 3)))
    no difference shown (n = 3 seeds)
    >>> print(verdict(by_image=Interval(0.2, 0.1, 0.3, 500, 0.95), higher_is_better=True))
    better (n = 500 images, one pair of runs)
    >>> print(verdict(Estimate(-0.02, 0.0, 2)))
    not tested (n = 2 seeds)
    """
    if by_seed is not None and can_be_judged(by_seed):
        return Verdict(_word(seed_interval(by_seed), higher_is_better), by_seed.n, "seeds")
    if by_image is not None:
        return Verdict(_word(by_image, higher_is_better), by_image.n, "images")
    if by_seed is None:
        refuse("verdict", "a difference by seed or by image is needed", "neither")
    return Verdict("not tested", by_seed.n, "seeds")


def can_be_judged(estimated: Estimate) -> bool:
    """Return whether Student's t may judge a difference: not one seed, not the same each time.

    Two equal differences are a coincidence (errors are counts), not certainty. A difference
    of 0 each time is none.

    >>> can_be_judged(Estimate(-0.01, 0.0, 2)), can_be_judged(Estimate(0.0, 0.0, 2))
    (False, True)
    """
    if estimated.se is None:
        return False
    return estimated.mean == 0 or not estimated.se <= _ROUNDING * abs(estimated.mean)  # NaN: judged


def check_level(who: str, level: float) -> None:
    """Refuse a level of confidence that is not between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, float) or not 0 < level < 1:
        refuse(who, "level must be between 0 and 1", describe(level), "0.95 is usual")


def _word(interval: Interval, higher_is_better: bool) -> Word:
    if interval.low > 0:
        return "better" if higher_is_better else "worse"
    if interval.high < 0:
        return "worse" if higher_is_better else "better"
    return "no difference shown"  # also where the ends are NaN


_DRAWS = 2**20  # a chunk's: some 30 MB, whatever the numbers of images and resamples


def bootstrap_interval(
    values: Tensor,
    statistic: Callable[[Tensor], Tensor],
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Compute a number that is no mean over images, and its interval if other images were drawn.

    `statistic` turns means [R, F] over images of the values [N, F] into [R] numbers:
    `bootstrap_interval(image_gap(probs, labels), sum_gaps)` is the calibration error's. A
    resample adds noise to every bin and so to that error; therefore the resamples' median is
    laid on the value, which is always inside. What noise is in the value itself stays, more
    the more the confidences spread: do not judge the difference of two models by it. The
    network stays as it is: the interval is not over seeds.

    >>> mean = bootstrap_interval(torch.tensor([[0.0], [1.0]] * 50), lambda means: means[:, 0])
    >>> mean.value, round(mean.low, 1), round(mean.high, 1)
    (0.5, 0.4, 0.6)
    """
    who = "bootstrap_interval"
    rows = _check_values(who, "values", values, 2)
    _check_resampling(who, level, num_resamples, seed)
    value = float(statistic(rows.mean(0, keepdim=True)))
    resampled = statistic(_resampled_means(rows, num_resamples, seed))
    if resampled.shape != (num_resamples,):
        refuse(who, "statistic must turn means [R, F] into [R] numbers", describe(resampled))
    low, high = _ends(resampled - resampled.quantile(0.5) + value, level).tolist()
    return Interval(value, low, high, len(rows), level)


def bootstrap_intervals(
    values: Mapping[str, Tensor],
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Interval]:
    """Compute the means of several values of the same images, by name, with their intervals.

    Each is [N]: `image_error`, `image_nll`, `image_brier`. Every resample takes the same images
    of all; of two models' values give the differences.

    >>> intervals = bootstrap_intervals({"error": torch.tensor([0.0, 1.0]), "top5": torch.zeros(2)})
    >>> intervals["error"].value, intervals["top5"].high
    (0.5, 0.0)
    """
    who = "bootstrap_intervals"
    if not values:
        refuse(who, "values must not be empty", describe(values))
    columns = [
        _check_values(who, f"values of {name}", column, 1) for name, column in values.items()
    ]
    for name, column in zip(values, columns, strict=True):
        if len(column) != len(columns[0]):
            rule = f"values of {name} must be of the same {len(columns[0])} images as the first"
            refuse(who, rule, describe(values[name]))
    _check_resampling(who, level, num_resamples, seed)
    rows = torch.stack(columns, 1)
    low, high = _ends(_resampled_means(rows, num_resamples, seed), level)
    ends = zip(rows.mean(0).tolist(), low.tolist(), high.tolist(), strict=True)
    return {
        name: Interval(*interval, len(rows), level)
        for name, interval in zip(values, ends, strict=True)
    }


def _check_resampling(who: str, level: float, num_resamples: int, seed: int) -> None:
    check_level(who, level)
    check_whole(who, "num_resamples", num_resamples, least=1)
    check_whole(who, "seed", seed, least=0)


def _ends(resampled: Tensor, level: float) -> Tensor:
    """Return the low and high ends, [2, ...], of resampled numbers [R, ...]."""
    tail = (1 - level) / 2
    return resampled.quantile(resampled.new_tensor([tail, 1 - tail]), dim=0)


def _resampled_means(rows: Tensor, num_resamples: int, seed: int) -> Tensor:
    """Compute the means [R, F] of N rows drawn with replacement, R times."""
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


def _check_values(who: str, name: str, values: Any, ndim: int) -> Tensor:
    """Return values, [N] or [N, F], as float64 on the CPU."""
    if not isinstance(values, Tensor) or values.ndim != ndim or len(values) < 2:
        shape = "[N]" if ndim == 1 else "[N, F]"
        refuse(who, f"{name} must be a tensor {shape} of at least 2 images", describe(values))
    if not bool(values.isfinite().all()):
        image = int((~values.isfinite()).view(len(values), -1).any(1).nonzero()[0])
        refuse(who, f"{name} must be finite", f"{values[image].tolist()} (image {image})")
    return values.detach().cpu().double()
