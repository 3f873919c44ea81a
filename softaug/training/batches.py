"""Augmented batches by step number: the same samples and draws in any number of processes."""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.data.folder import FolderImages
from softaug.data.images import Images, Source
from softaug.draws import DrawKey, send
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import take
from softaug.recipes.recipe import Augment, Recipe
from softaug.training.augmentation import Chain, build_chain, scheduled
from softaug.training.mixing import image_mixing, step_key
from softaug.training.pacing import Strength, at_strength
from softaug.training.processes import Processes
from softaug.training.steps import Steps
from softaug.training.stopwatch import Stopwatch
from softaug.transforms import WindowCrop


class Batch(NamedTuple):
    """What one process gets of a step."""

    images: Tensor  # [B, C, H, W] uint8
    label: SoftLabel | MixedLabel
    sample: Tensor  # [B] places in the training set
    num_global: int  # images of this step in all processes, with those that cannot be read
    unreadable: tuple[str, ...] = ()  # files that were skipped, and why


class Augmented(NamedTuple):
    """What became of some samples; without those that cannot be read, if they are skipped."""

    images: Tensor
    label: SoftLabel
    sample: Tensor
    unreadable: tuple[str, ...] = ()


class Batches(Steps[Batch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's place.

    Where the recipe is paced, of the epoch's `strength` too, which is set before the epoch.
    """

    recipe: Recipe

    def __init__(
        self,
        recipe: Recipe,
        source: Source,
        data_mean: list[float],
        team: Processes,
        clock: Stopwatch,
    ) -> None:
        super().__init__(recipe, len(source.labels), team)
        self.source = source
        self.data_mean = data_mean
        self.clock = clock
        self.mix = image_mixing(recipe.mix)
        self.by_epoch = recipe.augment.pace.on
        self.strength = None
        self._try_chains()

    @property
    def strength(self) -> Strength | None:
        """What a pacer has set for the epoch in hand."""
        return self._strength

    @strength.setter
    def strength(self, strength: Strength | None) -> None:
        self._strength = strength
        self._chains: dict[Augment, Chain] = {}  # those of another may have another's table

    def __getitem__(self, step: int) -> Batch:
        together, rows = self.index(step), self.rows(step)
        seen = self._augmented(together[rows], step)
        if self.mix is None:
            return Batch(seen.images, seen.label, seen.sample, len(together), seen.unreadable)
        images, mixed = self._mixed(step, together, rows, seen.images, seen.label)
        self.clock.lap("augment")
        return Batch(images, mixed, seen.sample, len(together))

    def _augmented(self, sample: Tensor, step: int) -> Augmented:
        epoch = step // self.steps_per_epoch
        chain, source = self.chain(epoch), self.source
        index = send(sample, source.labels.device)
        key = DrawKey(self.recipe.seed, epoch, index)
        if chain.windows is not None and isinstance(source, FolderImages):
            seen = self._windows(source, chain, chain.windows, index, key)
        else:
            images = source.fetch(index)
            self.clock.lap("data")
            seen = Augmented(*chain(images, source.labels[index], key), sample)
        self.clock.lap("augment")
        return seen

    def _windows(
        self, source: FolderImages, chain: Chain, crop: WindowCrop, index: Tensor, key: DrawKey
    ) -> Augmented:
        """Only what the windows show is decoded."""
        cut = source.windows(index, crop, key)
        self.clock.lap("data")
        index = index[cut.rows]
        label = crop.report(source.labels[index], cut.params)
        rest = chain.after_windows(cut.images, label, key._replace(index=index))
        return Augmented(*rest, index, cut.unreadable)

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
            others, second, *_ = self._augmented(together[params.partner], step)
        return self.mix.apply(images, others, params), self.mix.report(label, second, params)

    def chain(self, epoch: int) -> Chain:
        """The transforms of an epoch."""
        augment = scheduled(self.recipe.augment, epoch, self.recipe.epochs)
        if self.strength is not None:
            assert self.strength.epoch == epoch, "a strength holds for one epoch"
            augment = at_strength(augment, self.strength)
        if augment not in self._chains:
            own = None if self.strength is None else self.strength.own
            self._chains[augment] = build_chain(augment, self.data_mean, self.recipe.data.size, own)
        return self._chains[augment]

    def _try_chains(self) -> None:
        """Every augmentation that the schedules lead to, on one image: refused now or never."""
        index = torch.zeros(1, dtype=torch.int64, device=self.source.labels.device)
        images, label = self._one_image(index), self.source.labels[index]
        chains = dict.fromkeys(self.chain(epoch) for epoch in range(self.recipe.epochs))
        for chain in chains:
            chain(images, label, DrawKey(self.recipe.seed, 0, index))

    def _one_image(self, index: Tensor) -> Tensor:
        if self.recipe.data.unreadable == "refuse":
            return self.source.fetch(index)
        edge = self.recipe.data.size
        return torch.zeros(1, 3, edge, edge, dtype=torch.uint8)  # the first file may be broken


def on_device(source: Source, device: torch.device) -> Source:
    """The source with its images on the training device, if they are in memory."""
    if isinstance(source, Images):
        return Images(source.images.to(device), source.labels.to(device))
    return source
