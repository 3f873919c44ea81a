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
from softaug.lab.recipes.config import EpochPlan, Recipe, steps_per_epoch
from softaug.lab.training.augmentation import (
    AnyTransform,
    Strength,
    at_strength,
    build_transforms,
    image_mixing,
    scheduled,
    step_key,
)
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.setup import derive_seed, ignore_signals
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import take
from softaug.transforms import WindowCrop


def epoch_order(num: int, seed: int, epoch: int) -> Tensor:
    """The order of `num` samples in an epoch, [num]."""
    return torch.randperm(num, generator=torch.Generator().manual_seed(derive_seed(seed, epoch)))


B = TypeVar("B")


class Steps(Dataset[B]):
    """`steps[step]` is what this process gets of a step.

    Each step takes the next `recipe.batch` samples of the epoch's order (the last one what is
    left), each process a stretch of them, which holds at least `least`.
    """

    by_epoch = False  # whether an epoch's samples are known only when the one before has ended

    def __init__(
        self, recipe: EpochPlan, num: int, context: DistContext = SINGLE, least: int = 1
    ) -> None:
        self.recipe, self.num, self.context = recipe, num, context
        self.steps_per_epoch = steps_per_epoch(num, recipe)
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        _check_shares(num, recipe.batch, context.world_size, least)

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
        return every.tensor_split(self.context.world_size)[self.context.rank]


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
        pin_memory=steps.context.device.type == "cuda",
        worker_init_fn=ignore_signals,
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


class Batch(NamedTuple):
    """What one process gets of a step."""

    step: int
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
    ) -> None:
        super().__init__(recipe, len(source.labels), context)
        self.source = source
        self.data_mean = data_mean
        self.mix = image_mixing(recipe.mix)
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
        self._epoch = -1  # of `_transforms`
        self._transforms: tuple[AnyTransform, ...] = ()

    def transforms(self, epoch: int) -> tuple[AnyTransform, ...]:
        """Return the transforms of an epoch."""
        if self._epoch != epoch:
            augment = scheduled(self.recipe.augment, epoch, self.recipe.epochs)
            own = None
            if self.strength is not None:
                assert self.strength.epoch == epoch, "a strength holds for one epoch"
                augment, own = at_strength(augment, self.strength), self.strength.own
            size = self.recipe.data.size
            self._transforms = build_transforms(augment, self.data_mean, size, own)
            self._epoch = epoch
        return self._transforms

    def _try_transforms(self) -> None:
        """Try on one image every augmentation that the schedules lead to, to refuse it now."""
        index = torch.zeros(1, dtype=torch.int64, device=self.source.labels.device)
        images, label = self._one_image(index), self.source.labels[index]
        augment, epochs = self.recipe.augment, self.recipe.epochs
        first_of = {scheduled(augment, epoch, epochs): epoch for epoch in reversed(range(epochs))}
        for epoch in first_of.values():
            key = DrawKey(self.recipe.seed, 0, index)
            apply_transforms(self.transforms(epoch), images, label, key)

    def _one_image(self, index: Tensor) -> Tensor:
        if self.recipe.data.unreadable == "refuse":
            return self.source.fetch(index)
        edge = self.recipe.data.size
        return torch.zeros(1, 3, edge, edge, dtype=torch.uint8)  # the first file may be broken

    def __getitem__(self, step: int) -> Batch:
        together, rows = self.index(step), self.rows(step)
        seen = self._augment(together[rows], step)
        if self.mix is None:
            return Batch(step, seen.images, seen.label, seen.sample, len(together), seen.unreadable)
        images, mixed = self._mix(step, together, rows, seen.images, seen.label)
        return Batch(step, images, mixed, seen.sample, len(together))

    def _augment(self, sample: Tensor, step: int) -> Augmented:
        epoch = step // self.steps_per_epoch
        transforms, source = self.transforms(epoch), self.source
        index = send(sample, source.labels.device)
        key = DrawKey(self.recipe.seed, epoch, index)
        if isinstance(source, FolderImages) and isinstance(transforms[0], WindowCrop):
            return _read_windows(source, transforms, index, key)
        images = source.fetch(index)
        return Augmented(*apply_transforms(transforms, images, source.labels[index], key), sample)

    def _mix(
        self, step: int, together: Tensor, rows: Tensor, images: Tensor, label: SoftLabel
    ) -> tuple[Tensor, MixedLabel]:
        """Mix the images of `rows` with others of the step, of whatever process.

        Another process's images are made here again: their draws are the same.
        """
        assert self.mix is not None
        height, width = images.shape[-2:]
        drawn = self.mix.draw(len(together), height, width, key=step_key(self.recipe, step))
        params = take(drawn, rows)
        if self.context.world_size == 1:
            others, second = take(images, params.partner), take(label, params.partner)
        else:
            others, second, *_ = self._augment(together[params.partner], step)
        return self.mix.apply(images, others, params), self.mix.report(label, second, params)


def _read_windows(
    source: FolderImages, transforms: Sequence[AnyTransform], index: Tensor, key: DrawKey
) -> Augmented:
    """Decode only what the windows show, then apply the other transforms."""
    crop, *others = transforms
    assert isinstance(crop, WindowCrop)
    cut = source.windows(index, crop, key)
    index = index[cut.rows]
    label = crop.report(source.labels[index], cut.params)
    rest = apply_transforms(others, cut.images, label, key._replace(index=index))
    return Augmented(*rest, index, cut.unreadable)


def apply_transforms(
    transforms: Sequence[AnyTransform], images: Tensor, label: Tensor | SoftLabel, key: DrawKey
) -> tuple[Tensor, SoftLabel]:
    """Apply transforms one after the other, all drawing by one key."""
    for transform in transforms:
        images, label = transform(images, label, key=key)
    assert isinstance(label, SoftLabel), "a recipe has a crop"
    return images, label


def on_device(source: Source, device: torch.device) -> Source:
    """The source with its images on the training device, if they are in memory."""
    if isinstance(source, Images):
        return Images(source.images.to(device), source.labels.to(device))
    return source


class SkippedFiles:
    """Every file that any process skipped, as "PATH: reason", with the first reason found."""

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
        known, new = {*map(_path, self.files)}, []
        for file in sorted(file for part in parts for file in part):
            if _path(file) not in known:
                known.add(_path(file))
                new.append(file)
        self.files += new
        return new


def _path(file: str) -> str:
    return file.rpartition(": ")[0]
