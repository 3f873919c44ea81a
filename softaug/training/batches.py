"""Augmented batches by step number: the same samples and draws in any number of processes."""

import math
import signal
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from softaug.checks import refuse
from softaug.data.images import Images, Source
from softaug.draws import DrawKey, send
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import take
from softaug.recipes.recipe import Augment, Recipe
from softaug.training.augmentation import Chain, build_chain, scheduled
from softaug.training.mixing import image_mixing, step_key
from softaug.training.processes import Processes
from softaug.training.seeding import epoch_order
from softaug.training.stopwatch import Stopwatch


class Batch(NamedTuple):
    """What one process gets of a step."""

    images: Tensor  # [B, C, H, W] uint8
    label: SoftLabel | MixedLabel
    sample: Tensor  # [B] places in the training set
    num_global: int  # images of this step in all processes


class Batches(Dataset[Batch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's place.

    Each step takes the next `recipe.batch` samples of the epoch's order (the last one what is
    left), each process a stretch of them.
    """

    def __init__(
        self,
        recipe: Recipe,
        source: Source,
        data_mean: list[float],
        team: Processes,
        clock: Stopwatch,
    ) -> None:
        self.recipe = recipe
        self.source = source
        self.data_mean = data_mean
        self.team = team
        self.clock = clock
        self.mix = image_mixing(recipe.mix)
        self.num = len(source.labels)
        self.steps_per_epoch = steps_per_epoch(self.num, recipe)
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        self._chains: dict[Augment, Chain] = {}
        _check_shares(self.num, recipe.batch, team.count)
        self._try_chains()

    def __len__(self) -> int:
        return self.recipe.epochs * self.steps_per_epoch

    def index(self, step: int) -> Tensor:
        """The samples of a step in all processes."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if self._order[0] != epoch:
            self._order = epoch, epoch_order(self.num, self.recipe.seed, epoch)
        start = place * self.recipe.batch
        return self._order[1][start : start + self.recipe.batch]

    def __getitem__(self, step: int) -> Batch:
        together = self.index(step)
        rows = torch.arange(len(together)).tensor_split(self.team.count)[self.team.rank]
        images, label = self._augmented(together[rows], step)
        if self.mix is None:
            return Batch(images, label, together[rows], len(together))
        images, mixed = self._mixed(step, together, rows, images, label)
        self.clock.lap("augment")
        return Batch(images, mixed, together[rows], len(together))

    def _augmented(self, samples: Tensor, step: int) -> tuple[Tensor, SoftLabel]:
        labels = self.source.labels
        index = send(samples, labels.device)
        images = self.source.fetch(index)
        self.clock.lap("data")
        epoch = step // self.steps_per_epoch
        key = DrawKey(self.recipe.seed, epoch, index)
        images, label = self.chain(epoch)(images, labels[index], key)
        self.clock.lap("augment")
        return images, label

    def _mixed(
        self, step: int, together: Tensor, rows: Tensor, images: Tensor, label: SoftLabel
    ) -> tuple[Tensor, MixedLabel]:
        """The images of `rows` mixed with others of the step, of whatever process.

        Another process's images are made here again: their draws are the same.
        """
        assert self.mix is not None
        height, width = images.shape[-2:]
        drawn = self.mix.draw(len(together), height, width, key=step_key(self.recipe, step))
        params = take(drawn, rows)
        if self.team.count == 1:
            others, second = take(images, params.partner), take(label, params.partner)
        else:
            others, second = self._augmented(together[params.partner], step)
        return self.mix.apply(images, others, params), self.mix.report(label, second, params)

    def chain(self, epoch: int) -> Chain:
        """The transforms of an epoch."""
        augment = scheduled(self.recipe.augment, epoch, self.recipe.epochs)
        if augment not in self._chains:
            self._chains[augment] = build_chain(augment, self.data_mean, self.recipe.data.size)
        return self._chains[augment]

    def _try_chains(self) -> None:
        """Every augmentation that the schedules lead to, on one image: refused now or never."""
        index = torch.zeros(1, dtype=torch.int64, device=self.source.labels.device)
        images, label = self.source.fetch(index), self.source.labels[index]
        chains = dict.fromkeys(self.chain(epoch) for epoch in range(self.recipe.epochs))
        for chain in chains:
            chain(images, label, DrawKey(self.recipe.seed, 0, index))


def steps_per_epoch(num_images: int, recipe: Recipe) -> int:
    """Steps that take every image once; the last one may be small."""
    return math.ceil(num_images / recipe.batch)


def _check_shares(num: int, batch: int, count: int) -> None:
    for size in (min(num, batch), num % batch or batch):
        if size < count:
            rule = f"each of the {count} processes must get an image in every step"
            got = f"a step of {size} images"
            refuse("train", rule, got, "choose another batch or fewer processes")


def on_device(source: Source, device: torch.device) -> Source:
    """The source with its images on the training device, if they are in memory."""
    if isinstance(source, Images):
        return Images(source.images.to(device), source.labels.to(device))
    return source


def stream(batches: Batches, first: int, workers: int) -> Iterator[Batch]:
    """The batches of all steps from `first` on; made ahead by `workers` processes if any."""
    if workers == 0:
        return map(batches.__getitem__, range(first, len(batches)))
    steps: Iterable[int] = range(first, len(batches))
    loader = DataLoader(
        batches,
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        pin_memory=batches.team.device.type == "cuda",
        worker_init_fn=leave_signals,
    )
    return iter(loader)


def leave_signals(worker: int) -> None:
    """A worker ends with the run, which alone decides what a signal to all of them means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
