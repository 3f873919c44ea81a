"""Which samples a step takes, and the stream of what becomes of them."""

import math
import signal
from abc import abstractmethod
from collections.abc import Iterator
from traceback import clear_frames
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from softaug.checks import refuse
from softaug.recipes.recipe import Course
from softaug.training.processes import Processes
from softaug.training.seeding import epoch_order

B = TypeVar("B")


class Steps(Dataset[B]):
    """`steps[step]` is what this process gets of a step.

    Each step takes the next `recipe.batch` samples of the epoch's order (the last one what is
    left), each process a stretch of them, which holds at least `least`.
    """

    by_epoch = False  # whether an epoch's samples are known only when the one before has ended

    def __init__(self, recipe: Course, num: int, team: Processes, least: int = 1) -> None:
        self.recipe, self.num, self.team = recipe, num, team
        self.steps_per_epoch = steps_per_epoch(num, recipe)
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        _check_shares(num, recipe.batch, team.count, least)

    def __len__(self) -> int:
        return self.recipe.epochs * self.steps_per_epoch

    @abstractmethod
    def __getitem__(self, step: int) -> B: ...

    def index(self, step: int) -> Tensor:
        """The samples of a step in all processes."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if self._order[0] != epoch:
            self._order = epoch, epoch_order(self.num, self.recipe.seed, epoch)
        start = place * self.recipe.batch
        return self._order[1][start : start + self.recipe.batch]

    def known_from(self, first: int) -> range:
        """The steps from `first` on that can be made now."""
        if not self.by_epoch:
            return range(first, len(self))
        return range(first, (first // self.steps_per_epoch + 1) * self.steps_per_epoch)

    def rows(self, step: int) -> Tensor:
        """Which of a step's samples are this process's."""
        every = torch.arange(len(self.index(step)))
        return every.tensor_split(self.team.count)[self.team.rank]


def steps_per_epoch(num_images: int, recipe: Course) -> int:
    """Steps that take every image once; the last one may be small."""
    return math.ceil(num_images / recipe.batch)


def _check_shares(num: int, batch: int, count: int, least: int) -> None:
    for size in (min(num, batch), num % batch or batch):
        if size < count * least:
            some = "an image" if least == 1 else f"{least} images"
            rule = f"each of the {count} processes must get {some} in every step"
            got = f"a step of {size} images"
            refuse("train", rule, got, "choose another batch or fewer processes")


def stream(steps: Steps[B], first: int, workers: int) -> Iterator[B]:
    """What becomes of all steps from `first` on; made ahead by `workers` processes if any.

    Where epochs depend on those before, none is begun before it is asked for, and each has
    workers of its own, which know what it depends on.
    """
    while first < len(steps):
        numbers = steps.known_from(first)
        yield from _made(steps, numbers, workers)
        first = numbers.stop


def _made(steps: Steps[B], numbers: range, workers: int) -> Iterator[B]:
    if workers == 0:
        return map(steps.__getitem__, numbers)
    loader = DataLoader(
        steps,
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        pin_memory=steps.team.device.type == "cuda",
        worker_init_fn=leave_signals,
    )
    return _until_it_fails(iter(loader))


def _until_it_fails(coming: Iterator[B]) -> Iterator[B]:
    """What `coming` gives; its workers end with it, also when one of them refuses a file.

    The traceback of what a worker raised holds `coming`, so its workers would live on, and at
    exit Python would wait for them for ever.
    """
    try:
        yield from coming
    except Exception as broken:
        clear_frames(broken.__traceback__)
        raise
    finally:
        del coming


def leave_signals(worker: int) -> None:
    """A worker ends with the run, which alone decides what a signal to all of them means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
