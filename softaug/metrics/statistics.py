"""What a handful of seeds and a test set can show: means, intervals and verdicts.

Two sources of chance are kept apart. Over *seeds*: would the method do it again? Student's t
on differences paired by seed. Over *images*: would these two trained networks differ on other
images of the kind? The bootstrap of `softaug.metrics.bootstrap`.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from softaug.checks import describe, refuse
from softaug.metrics.student import t_quantile

Word = Literal["better", "worse", "no difference shown", "not tested"]

_ROUNDING = 1e-9  # of a mean: equal differences of shares have such an s.e., or 0


@dataclass(frozen=True)
class Estimate:
    """Mean over `n` seeds and its standard error; a single seed has none."""

    mean: float
    se: float | None
    n: int


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; `n` seeds or images, `level` such as 0.95."""

    value: float
    low: float
    high: float
    n: int
    level: float


@dataclass(frozen=True)
class Verdict:
    """What a comparison shows, and over how many seeds or images.

    >>> print(Verdict("better", 5, "seeds"))
    better (n = 5 seeds)
    >>> print(Verdict("worse", 10000, "images"))
    worse (n = 10000 images, one pair of runs)
    """

    word: Word
    n: int
    over: Literal["seeds", "images"]

    def __str__(self) -> str:
        unit = self.over if self.n != 1 else self.over.removesuffix("s")
        pair = ", one pair of runs" if self.over == "images" else ""
        return f"{self.word} (n = {self.n} {unit}{pair})"


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and its standard error: the sample sd over the root of n.

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
    """`first` minus `second`, each {seed: value}, over the seeds that both have.

    Pairing takes out what a seed does to both (initial weights, order of the images).

    >>> paired_difference({0: 1.0, 1: 3.0, 2: 9.0}, {0: 0.5, 1: 2.0})
    Estimate(mean=0.75, se=0.25, n=2)
    """
    common = [seed for seed in first if seed in second]
    if not common:
        got = f"{list(first)[:5]} and {list(second)[:5]}"
        refuse("paired_difference", "both must have a seed in common", got)
    return estimate([first[seed] - second[seed] for seed in common])


def seed_interval(found: Estimate, level: float = 0.95) -> Interval:
    """Student's t interval of a mean over at least two seeds.

    >>> found = seed_interval(Estimate(1.0, 0.1, 3))
    >>> round(found.low, 4), round(found.high, 4)
    (0.5697, 1.4303)
    """
    check_level("seed_interval", level)
    if found.se is None:
        remedy = "one seed has no spread: run more, or use an interval over images"
        refuse("seed_interval", "an interval over seeds needs at least 2", found.n, remedy)
    reach = t_quantile(level, found.n - 1) * found.se
    return Interval(found.mean, found.mean - reach, found.mean + reach, found.n, level)


def verdict(
    by_seed: Estimate | None = None,
    by_image: Interval | None = None,
    *,
    higher_is_better: bool = False,
) -> Verdict:
    """Better or worse if the 95 % interval of the paired difference excludes 0.

    The difference is "ours minus theirs". With two seeds or more it is judged over seeds
    alone (`paired_difference`, Student's t); with fewer over images (`bootstrap_difference`,
    at the interval's own level), if that is given; else nothing is tested. Seeds that all
    differ by the same amount say nothing of their spread: they count as fewer.

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


def can_be_judged(found: Estimate) -> bool:
    """Whether Student's t may judge a difference: not one seed, not the same each time.

    Two equal differences are a coincidence (errors are counts), not certainty. A difference
    of 0 each time is none.

    >>> can_be_judged(Estimate(-0.01, 0.0, 2)), can_be_judged(Estimate(0.0, 0.0, 2))
    (False, True)
    """
    if found.se is None:
        return False
    return found.mean == 0 or not found.se <= _ROUNDING * abs(found.mean)  # NaN: judged


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
