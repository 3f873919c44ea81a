"""Fair timing on a machine that others use too."""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from softaug.lab.training.logging import warm_allocator

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


MISSING = "not installed (pip install 'softaug[peers]')"


@dataclass(frozen=True)
class Row:
    """One variant: its cost in units of the base, and in the table's own unit."""

    name: str
    ratio: Spread | None = None
    amount: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Bound:
    """A promise about one number: at most `limit`, or at least."""

    rule: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether it is kept; a NaN never is."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Table:
    """A suite's result. `per` names what a ratio of 1 costs; `unit` is that of the amounts."""

    title: str
    per: str
    unit: str
    rows: list[Row]
    bounds: list[Bound] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        kept = [{**asdict(bound), "passed": bound.passed} for bound in self.bounds]
        return {**asdict(self), "bounds": kept}


def timing_rows(timing: Timing, base: str, missing: Iterable[str] = ()) -> list[Row]:
    """A row in milliseconds for each variant, then one for each peer that is not installed."""
    rows = [
        Row(name, timing.ratio(name, base), timing.median(name) * 1000) for name in timing.seconds
    ]
    return rows + [Row(name, note=MISSING) for name in missing]


Peer = Callable[[Tensor], Variants]

# albumentations asks the network for a newer version on import, if this is not set.
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")


def installed(peers: Mapping[str, Peer], images: Tensor) -> tuple[dict[str, Variants], list[str]]:
    """The variants of each peer (by module name) that is there, and the names of the others."""
    found = {name: make(images) for name, make in peers.items() if find_spec(name) is not None}
    return found, [name for name in peers if name not in found]


MEAN = (0.4914, 0.4822, 0.4465)
STD = (0.2470, 0.2435, 0.2616)
CONVERT = "convert and normalise alone"

# Its names are re-exported in a way that mypy does not accept.
v2: Any = import_module("torchvision.transforms.v2")

_OFFSET = 255 * torch.tensor(MEAN).view(3, 1, 1)
_SCALE = 1 / (255 * torch.tensor(STD).view(3, 1, 1))


def make_images(batch: int, edge: int = 32) -> tuple[Tensor, Tensor]:
    """uint8 noise [B, 3, edge, edge] and ten classes [B], always the same."""
    generator = torch.Generator().manual_seed(0)
    shape = (batch, 3, edge, edge)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    return images, torch.randint(0, 10, (batch,), generator=generator)


def normalise(images: Tensor) -> Tensor:
    """uint8 to float32 of mean 0 and sd 1: three passes, as cheap as eager torch has it."""
    return images.float().sub_(_OFFSET).mul_(_SCALE)
