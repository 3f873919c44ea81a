"""Suite "scaling": what the crop's cost follows (batch, pixels) and what not (sigma)."""

import math
import statistics
from collections.abc import Callable, Sequence

import torch

from softaug import DrawKey, SoftCrop
from softaug.bench.images import make_images
from softaug.bench.table import Bound, Table, timing_rows
from softaug.bench.timing import Timing, interleave

BATCHES = (64, 128, 256, 512, 1024, 2048, 4096)
EDGES = (32, 64, 128, 224)
SIGMAS = (0.05, 0.1, 0.3, 0.5, 1.0)


def scaling_suite(
    rounds: int,
    batches: Sequence[int] = BATCHES,
    edges: Sequence[int] = EDGES,
    sigmas: Sequence[float] = SIGMAS,
) -> list[Table]:
    """Cost of `SoftCrop` alone, with keyed draws."""
    return [_over_batch(rounds, batches), _over_edge(rounds, edges), _over_sigma(rounds, sigmas)]


def _over_batch(rounds: int, batches: Sequence[int]) -> Table:
    sizes = {f"batch {batch}": batch for batch in batches}
    timing = interleave({name: _crop(batch) for name, batch in sizes.items()}, rounds)
    return _sweep("SoftCrop over the batch, 32 x 32", timing, list(sizes.values()))


def _over_edge(rounds: int, edges: Sequence[int], batch: int = 64) -> Table:
    sizes = {f"{edge} x {edge}": edge * edge for edge in edges}
    variants = {f"{edge} x {edge}": _crop(batch, edge) for edge in edges}
    title = f"SoftCrop over the pixels, batch {batch}"
    return _sweep(title, interleave(variants, rounds), list(sizes.values()))


def _over_sigma(rounds: int, sigmas: Sequence[float]) -> Table:
    timing = interleave({f"sigma {s}": _crop(512, sigma=s) for s in sigmas}, rounds)
    base = next(iter(timing.seconds))
    ratios = [timing.ratio(name, base).median for name in timing.seconds]
    bound = Bound("slowest sigma / fastest", max(ratios) / min(ratios), 1.15)
    title = "SoftCrop over sigma, batch 512, 32 x 32"
    return Table(title, base, "ms", timing_rows(timing, base), [bound])


def _crop(batch: int, edge: int = 32, sigma: float = 0.3) -> Callable[[], object]:
    images, labels = make_images(batch, edge)
    crop, key = SoftCrop(sigma), DrawKey(0, 0, torch.arange(batch))
    return lambda: crop(images, labels, key=key)


def _sweep(title: str, timing: Timing, sizes: list[int]) -> Table:
    base = next(iter(timing.seconds))
    seconds = [timing.median(name) for name in timing.seconds]
    half = (len(sizes) - 1) // 2  # below it the fixed cost of a call shows
    rule = "power of the size that the cost follows, larger half (1 is linear)"
    bounds = [Bound(rule, slope(sizes[half:], seconds[half:]), 1.15)]
    return Table(title, base, "ms", timing_rows(timing, base), bounds)


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power of the size that the cost follows: 1 is linear, less shows a fixed cost.

    >>> slope([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    return round(statistics.linear_regression(x, y).slope, 6)
