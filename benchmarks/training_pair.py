"""Run by torchrun in two processes: steps alone, together and side by side, by turns.

Each process has one thread. `python -m torch.distributed.run --nproc-per-node 2
-m benchmarks.training_pair FILE MODEL IMAGES BATCH ROUNDS STEPS`; the first process writes the
wall seconds of each way and round to FILE, as JSON.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks.timing import one_thread
from benchmarks.training_loops import OurLoop, random_images, soft_recipe, training_data
from softaug.lab.io import write_json
from softaug.lab.training.distributed import DistContext, init_distributed


def main(out: Path, model: str, num_images: int, batch: int, rounds: int, steps: int) -> None:
    """Measure, and write from the first process."""
    with init_distributed("cpu") as context, one_thread():
        ways = _ways(context, model, num_images, batch)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(1 + rounds):
            for way, step in ways.items():
                seconds[way].append(_stretch(step, steps))
        if context.is_rank_zero:
            write_json({way: found[1:] for way, found in seconds.items()}, out)


def _ways(
    context: DistContext, model: str, num_images: int, batch: int
) -> dict[str, Callable[[], object]]:
    """One process while the other waits; both on one batch; each on its own half, unrelated."""
    data = training_data(random_images(num_images))
    recipe, half = soft_recipe(model, batch), soft_recipe(model, batch // 2)
    return {
        "alone": OurLoop(recipe, data).step if context.is_rank_zero else _wait,
        "together": OurLoop(recipe, data, context).step,
        "apart": OurLoop(half, data).step,
    }


def _wait() -> None:
    """The barrier after the stretch does it."""


def _stretch(step: Callable[[], object], steps: int) -> float:
    """Wall seconds until both processes are done."""
    dist.barrier()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    dist.barrier()
    return time.perf_counter() - started


if __name__ == "__main__":
    torch.set_num_threads(1)
    where, name, *numbers = sys.argv[1:]
    main(Path(where), name, *map(int, numbers))
