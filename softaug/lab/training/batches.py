"""Augmented batches by step number: the same samples and draws in any number of processes."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from traceback import clear_frames
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from softaug.checks import refuse
from softaug.draws import DrawKey, send
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Images, Source
from softaug.lab.recipes.augment import (
    WINDOWS,
    Augment,
    NormalOffsets,
    NormalWindows,
    UniformWindows,
)
from softaug.lab.recipes.config import EpochPlan, Recipe, steps_per_epoch
from softaug.lab.training.augmentation import (
    AnyTransform,
    Strength,
    at_strength,
    build_transforms,
    read_factors,
    scheduled,
    scheduled_alpha,
    view_sigmas,
)
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.setup import TrainingData, derive_seed, ignore_signals
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import BatchMix, CutMix, Mixup, take
from softaug.transforms import WindowCrop


def epoch_order(num: int, seed: int, epoch: int) -> Tensor:
    """Return the order of `num` samples in an epoch, [num]."""
    return torch.randperm(num, generator=torch.Generator().manual_seed(derive_seed(seed, epoch)))


B = TypeVar("B")


class Steps(Dataset[B]):
    """`steps[step]` is what this process gets of a step.

    Each step takes the next `recipe.batch` samples of the epoch's order (the last one what is
    left), each process a stretch of them, which holds at least `least`. With two views a sample
    comes twice in a row, and an order lasts two epochs.
    """

    by_epoch = False  # whether an epoch's samples depend on the one before
    num_views = 1  # of each sample in a step

    def __init__(
        self, recipe: EpochPlan, num: int, context: DistContext = SINGLE, least: int = 1
    ) -> None:
        self.recipe, self.num, self.context = recipe, num, context
        self.steps_per_epoch = steps_per_epoch(num, recipe)
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        for size in (min(num, recipe.batch), num % recipe.batch or recipe.batch):
            if size < context.world_size * least:
                images = "an image" if least == 1 else f"{least} images"
                rule = f"each of the {context.world_size} processes must get {images} in every step"
                got = f"a step of {size} images"
                refuse("train", rule, got, "choose another batch or fewer processes")

    def __len__(self) -> int:
        return self.recipe.epochs * self.steps_per_epoch

    @abstractmethod
    def __getitem__(self, step: int) -> B: ...

    def index(self, step: int) -> Tensor:
        """Return the samples of a step in all processes; view v of one is v x num + its place."""
        epoch, step_of_epoch = divmod(step, self.steps_per_epoch)
        if self._order[0] != epoch:
            order = epoch_order(self.num, self.recipe.seed, epoch // self.num_views)
            order = (order[:, None] + self.num * torch.arange(self.num_views)).flatten()
            views = torch.split(order, self.num)
            self._order = epoch, views[epoch % self.num_views]
        start = step_of_epoch * self.recipe.batch
        return self._order[1][start : start + self.recipe.batch]

    def known_from(self, first: int) -> range:
        """Return the steps from `first` on that can be made now."""
        if not self.by_epoch:
            return range(first, len(self))
        return range(first, (first // self.steps_per_epoch + 1) * self.steps_per_epoch)

    def rows(self, step: int) -> Tensor:
        """Return which of a step's samples are this process's."""
        every = torch.arange(len(self.index(step)))
        return every.tensor_split(self.context.world_size)[self.context.rank]


def stream(steps: Steps[B], first: int, workers: int) -> Iterator[B]:
    """Yield all steps from `first` on; made ahead by `workers` processes if any.

    Where epochs depend on those before, none is begun before it is asked for, and each has
    workers of its own, which know what it depends on.
    """
    while first < len(steps):
        numbers = steps.known_from(first)
        if workers == 0:
            yield from map(steps.__getitem__, numbers)
        else:
            yield from _load_ahead(steps, numbers, workers)
        first = numbers.stop


def _load_ahead(steps: Steps[B], numbers: range, workers: int) -> Iterator[B]:
    """Yield what workers make; they end with it, also when one of them refuses a file.

    The traceback of what a worker raised holds the loader, so its workers would live on, and at
    exit Python would wait for them for ever.
    """
    loader = iter(
        DataLoader(
            steps,
            batch_size=None,
            sampler=numbers,
            num_workers=workers,
            pin_memory=steps.context.device.type == "cuda",
            worker_init_fn=ignore_signals,
        )
    )
    try:
        yield from loader
    except Exception as broken:
        clear_frames(broken.__traceback__)
        raise
    finally:
        del loader


class Batch(NamedTuple):
    """What one process gets of a step."""

    step: int
    images: Tensor  # [B, C, H, W] uint8
    label: SoftLabel | MixedLabel
    sample: Tensor  # [B] indices in the training set
    num_global: int  # images of this step in all processes, with those that cannot be read
    unreadable: tuple[str, ...] = ()  # files that were skipped, and why


MIXINGS: dict[str, type[BatchMix]] = {"mixup": Mixup, "cutmix": CutMix}


def step_key(recipe: Recipe, step: int) -> DrawKey:
    """Name the draws of a step, the same in every process."""
    return DrawKey(recipe.seed, 0, step)


class Batches(Steps[Batch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's rank.

    Where the recipe is paced, of the epoch's `strength` too, which is set before the epoch.
    """

    recipe: Recipe

    def __init__(
        self,
        recipe: Recipe,
        source: Source,
        data_mean: list[float],
        context: DistContext = SINGLE,
        num_classes: int | None = None,
    ) -> None:
        super().__init__(recipe, len(source.labels), context)
        classes = int(source.labels.max()) + 1 if num_classes is None else num_classes
        self.factors = read_factors(recipe.augment.factors, source.labels, classes)
        self.source, self.data_mean, self.num_views = source, data_mean, recipe.augment.views
        self.by_epoch = recipe.augment.pace.on
        self.strength = None
        self._try_transforms()

    @property
    def strength(self) -> Strength | None:
        """What a pacer has set for this epoch."""
        return self._strength

    @strength.setter
    def strength(self, strength: Strength | None) -> None:
        self._strength = strength
        self._transforms: tuple[int, tuple[AnyTransform, ...]] = (-1, ())  # with their epoch

    def transforms(self, epoch: int) -> tuple[AnyTransform, ...]:
        """Return the transforms of an epoch."""
        if self._transforms[0] != epoch:
            augment = scheduled(self.recipe.augment, epoch, self.recipe.epochs)
            if self.strength is not None:
                assert self.strength.epoch == epoch, "a strength holds for one epoch"
                augment, sigma = at_strength(augment, self.strength), self.strength.per_sample_sigma
            else:
                sigma = view_sigmas(augment, self.num)
            size = self.recipe.data.size
            made = build_transforms(augment, self.data_mean, size, sigma, self.factors)
            self._transforms = epoch, made
        return self._transforms[1]

    def _try_transforms(self) -> None:
        """Try on one image every augmentation that the schedules lead to, to refuse it now."""
        index = torch.zeros(1, dtype=torch.int64, device=self.source.labels.device)
        augment, epochs, edge = self.recipe.augment, self.recipe.epochs, self.recipe.data.size
        if self.recipe.data.unreadable == "refuse":
            images = self.source.fetch(index)
        else:
            images = torch.zeros(1, 3, edge, edge, dtype=torch.uint8)  # the first may be broken
        first_of = {scheduled(augment, epoch, epochs): epoch for epoch in reversed(range(epochs))}
        for epoch in first_of.values():
            key = DrawKey(self.recipe.seed, 0, index)
            apply_transforms(self.transforms(epoch), images, self.source.labels[index], key)

    def __getitem__(self, step: int) -> Batch:
        together, rows = self.index(step), self.rows(step)
        batch = self._augment(step, together[rows], len(together))
        mix = self.mix(step // self.steps_per_epoch)
        return batch if mix is None else self._mix(mix, batch, together, rows)

    def mix(self, epoch: int) -> BatchMix | None:
        """Return what mixes the images of an epoch's batches; None where nothing does."""
        kind, alpha = self.recipe.mix.kind, scheduled_alpha(self.recipe, epoch)
        return MIXINGS[kind](alpha) if kind in MIXINGS and alpha else None

    def _augment(self, step: int, views: Tensor, num_global: int) -> Batch:
        epoch = step // self.steps_per_epoch
        transforms, source = self.transforms(epoch), self.source
        label: Tensor | SoftLabel
        unreadable: tuple[str, ...] = ()
        sample = views % self.num
        index, views = (send(index, source.labels.device) for index in (sample, views))
        key = DrawKey(self.recipe.seed, epoch, views)
        if isinstance(source, FolderImages) and isinstance(crop := transforms[0], WindowCrop):
            cut = source.windows(index, crop, key)  # decodes only what the windows show
            sample = index = index[cut.rows]
            images, unreadable = cut.images, cut.unreadable
            key, transforms = key._replace(index=views[cut.rows]), transforms[1:]
            label = crop.report(source.labels[index], cut.params, key=key)
        else:
            images, label = source.fetch(index), source.labels[index]
        images, label = apply_transforms(transforms, images, label, key)
        return Batch(step, images, label, sample, num_global, unreadable)

    def _mix(self, mix: BatchMix, batch: Batch, together: Tensor, rows: Tensor) -> Batch:
        """Mix the images of `rows` with others of the step, of whatever process.

        Another process's images are made here again: their draws are the same.
        """
        assert isinstance(batch.label, SoftLabel)
        height, width = batch.images.shape[-2:]
        key = step_key(self.recipe, batch.step)
        params = take(mix.draw(len(together), height, width, key=key), rows)
        if self.context.world_size == 1:
            partners = batch._replace(
                images=take(batch.images, params.partner), label=take(batch.label, params.partner)
            )
        else:
            partners = self._augment(batch.step, together[params.partner], len(together))
        assert isinstance(partners.label, SoftLabel)
        images = mix.apply(batch.images, partners.images, params)
        return batch._replace(images=images, label=mix.report(batch.label, partners.label, params))


def milder_batches(
    recipe: Recipe, data: TrainingData, sigma: float, context: DistContext = SINGLE
) -> Batches:
    """Build an epoch of training images that are only flipped, and cropped at `sigma`."""
    crop = recipe.augment.crop
    soft = NormalWindows if isinstance(crop, WINDOWS) else NormalOffsets
    fill = "data-mean" if isinstance(crop, UniformWindows) else crop.fill
    augment = Augment(soft(sigma, fill=fill), flip=recipe.augment.flip, order=recipe.augment.order)
    seed = derive_seed(recipe.seed, recipe.epochs)  # those of training end one epoch before
    plan = Recipe(
        recipe.name, recipe.model, recipe.data, augment, epochs=1, batch=recipe.batch, seed=seed
    )
    return Batches(plan, on_device(data.train, context.device), data.mean, context)


def apply_transforms(
    transforms: Sequence[AnyTransform], images: Tensor, label: Tensor | SoftLabel, key: DrawKey
) -> tuple[Tensor, SoftLabel]:
    """Apply transforms one after the other, all drawing by one key."""
    for transform in transforms:
        images, label = transform(images, label, key=key)
    assert isinstance(label, SoftLabel), "a recipe has a crop"
    return images, label


def on_device(source: Source, device: torch.device) -> Source:
    """Return the source with its images on the training device, if they are in memory."""
    if isinstance(source, Images):
        return Images(source.images.to(device), source.labels.to(device))
    return source


class SkippedFiles:
    """Every file that any process skipped, as "PATH: reason", with the first reason."""

    def __init__(self, context: DistContext) -> None:
        self.context = context
        self.files: list[str] = []
        self._new: set[str] = set()  # in this process

    def note(self, files: Iterable[str]) -> None:
        """Remember what this process skipped."""
        self._new.update(files)

    def share(self) -> list[str]:
        """Return what is new since the last time; all processes call this together."""
        parts, self._new = self.context.all_gather_object(sorted(self._new)), set()
        paths, new = {file.rpartition(": ")[0] for file in self.files}, []
        for file in sorted(file for part in parts for file in part):
            path = file.rpartition(": ")[0]
            if path not in paths:
                paths.add(path)
                new.append(file)
        self.files += new
        return new
