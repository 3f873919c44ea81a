"""Load a data set by name, and take subsets of its images, in memory or in files."""

import math
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.lab.data.datasets import ReadOptions, find_dataset, import_object

SomeSource = TypeVar("SomeSource", bound="Source")


class Source(Protocol):
    """Images that are fetched by their indices, from memory or from files."""

    @property
    def labels(self) -> Tensor:
        """Return the class of each image, [N] int64, on the CPU."""

    def fetch(self, index: Tensor) -> Tensor:
        """Return the images at `index` [B], in its order: uint8 [B, C, H, W]."""

    def take(self: SomeSource, index: Tensor) -> SomeSource:
        """Return a source of only the images at `index`, in its order."""


class Images(NamedTuple):
    """Images in memory with their labels."""

    images: Tensor  # [N, C, H, W] uint8
    labels: Tensor  # [N] int64

    def fetch(self, index: Tensor) -> Tensor:
        return self.images.index_select(0, index)  # 20 x faster than [index] on a CPU

    def take(self, index: Tensor) -> "Images":
        return Images(self.images[index], self.labels[index])


class ImageData(NamedTuple):
    """A data set as its makers split it; a folder may have no test split."""

    train: Source
    test: Source | None
    class_names: tuple[str, ...]


def load(
    name: str,
    data_dir: Path | str | None = None,
    labels: str = "fine",
    size: int = 224,
    resize: int | None = None,
    unreadable: str = "refuse",
    test_share: float = 0.0,
    seed: int = 0,
) -> ImageData:
    """Load the images of a data set in color; `DATASETS` has the names, `ReadOptions` the options.

    `labels` may be "coarse" for CIFAR-100; all after it are for images in folders.
    """
    dataset = find_dataset("load", name)
    if labels not in (dataset.num_classes or {"fine": 0}):
        refuse("load", f'labels of {name} must be "fine"', repr(labels))
    options = ReadOptions(data_dir, labels, size, resize, unreadable, test_share, seed)
    data: ImageData = import_object(dataset.reader)(name, options)
    return data


def stratified_order(labels: Tensor, seed: int) -> Tensor:
    """Draw a random order, [N] indices, any stretch of which holds each class in proportion."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    rank = torch.empty(len(labels), dtype=torch.float64)  # in its own class, from 0 to 1
    for label in sorted(set(labels.tolist())):
        members = shuffled[labels[shuffled] == label]
        rank[members] = (torch.arange(len(members)) + 0.5).double() / len(members)
    return shuffled[rank[shuffled].argsort(stable=True)]


def hold_out(data: SomeSource, num: int, seed: int) -> tuple[SomeSource, SomeSource]:
    """Split off `num` images for tuning, each class in proportion; return (rest, held out)."""
    if num >= len(data.labels):
        refuse("hold_out", f"num must leave some of the {len(data.labels)} images", num)
    order = stratified_order(data.labels, seed)
    return data.take(order[num:]), data.take(order[:num])


def sample_per_class(data: SomeSource, num: int, seed: int) -> SomeSource:
    """Draw `num` random images of each class, in random order."""
    order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(seed))
    labels = data.labels[order]
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    for label in sorted(set(labels.tolist())):
        members = (labels == label).nonzero().squeeze(1)
        if len(members) < num:
            rule = f"num must be at most the images of class {label}"
            refuse("sample_per_class", rule, f"{num}, of {len(members)}")
        chosen[members[:num]] = True
    return data.take(order[chosen])


def hold_out_share(data: SomeSource, share: float, seed: int) -> tuple[SomeSource, SomeSource]:
    """Split off a share of each class, at least one image of it; return (rest, held out)."""
    order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(seed))
    held = torch.zeros(len(order), dtype=torch.bool)
    for label in sorted(set(data.labels.tolist())):
        members = order[data.labels[order] == label]
        num = max(1, round(share * len(members)))
        if num >= len(members):
            rule = f"class {label} must have images left to train on"
            got = f"{len(members)} in all, {num} held out"
            refuse("hold_out_share", rule, got, "add images, or remove the class's folder")
        held[members[:num]] = True
    return data.take((~held).nonzero().squeeze(1)), data.take(held.nonzero().squeeze(1))


def split_train_eval(
    data: ImageData, *, per_class: int | None, validation: int, seed: int
) -> tuple[Source, Source]:
    """Return the images to train on, and `validation` held-out images or, if 0, the test split.

    They are held out first, so that the evaluation does not change with `per_class`, the number
    of images of each class to train on (None is all).
    """
    if validation:
        train, evaluation = hold_out(data.train, validation, seed)
    elif data.test is not None:
        train, evaluation = data.train, data.test
    else:
        remedy = "give the folder a val split beside train"
        who = "split_train_eval"
        refuse(who, "validation must be above 0 where there is no test split", 0, remedy)
    if per_class is not None:
        train = sample_per_class(train, per_class, seed)
    return train, evaluation


# Of ImageNet's training images, in 0..1, as pretrained networks expect.
IMAGENET_MEAN, IMAGENET_SD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ChannelStats(NamedTuple):
    """Mean and standard deviation of each channel, in pixels 0..255."""

    mean: list[float]
    sd: list[float]


def channel_stats(source: Source) -> ChannelStats:
    """Compute exact statistics of images in memory; for files, return ImageNet's.

    >>> channel_stats(Images(torch.tensor([[[[1, 3]]]], dtype=torch.uint8), torch.tensor([0])))
    ChannelStats(mean=[2.0], sd=[1.4142135623730951])
    """
    if not isinstance(source, Images):
        return ChannelStats([255 * v for v in IMAGENET_MEAN], [255 * v for v in IMAGENET_SD])
    if source.images[:, :1].numel() < 2:
        refuse("channel_stats", "there must be two pixels or more", list(source.images.shape))
    means, sds = zip(*map(_mean_and_sd, source.images.unbind(1)), strict=True)
    return ChannelStats(list(means), list(sds))


def _mean_and_sd(pixels: Tensor) -> tuple[float, float]:
    """Compute both from the histogram of the 256 values: whole numbers, so nothing is rounded."""
    counts = torch.bincount(pixels.flatten(), minlength=256).tolist()
    num = sum(counts)
    total = sum(value * count for value, count in enumerate(counts))
    squares = sum(value * value * count for value, count in enumerate(counts))
    return total / num, math.sqrt((num * squares - total * total) / (num * (num - 1)))
