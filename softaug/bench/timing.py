"""Fair timing on a machine that others use too."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from softaug.training.environment import warm_allocator

Variants = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Spread:
    """Median and quartiles over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """CPU seconds of one call, for each variant and round."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, base: str) -> Spread:
        """Cost of `name` in units of `base`, each round against the same round."""
        pairs = zip(self.seconds[name], self.seconds[base], strict=True)
        return spread([mine / other for mine, other in pairs])


def spread(values: list[float]) -> Spread:
    """Median and quartiles.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.5, high=2.5)
    """
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def interleave(variants: Variants, rounds: int, sample_seconds: float = 0.005) -> Timing:
    """Time all variants in every round, so that load from outside falls on all alike.

    CPU time, not wall time; a fast variant is called several times for one sample.
    """
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    with one_thread():
        calls = {name: _num_calls(call, sample_seconds) for name, call in variants.items()}
        for _ in range(rounds):
            for name, call in variants.items():
                seconds[name].append(_sample(call, calls[name]))
    return Timing(seconds)


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread and a warm allocator inside; the caller's thread count after."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    warm_allocator()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _num_calls(call: Callable[[], object], sample_seconds: float) -> int:
    call()  # the first one pays for imports and caches
    return max(1, round(sample_seconds / max(_sample(call, 1), 1e-6)))


def _sample(call: Callable[[], object], num_calls: int) -> float:
    started = time.process_time()
    for _ in range(num_calls):
        call()
    return (time.process_time() - started) / num_calls
