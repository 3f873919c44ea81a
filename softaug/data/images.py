"""What a training loop reads images from, images in memory, and parts of either."""

from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from softaug.checks import check_whole, refuse

SomeSource = TypeVar("SomeSource", bound="Source")


class Source(Protocol):
    """Images that are fetched by their numbers, be they in memory or in files."""

    @property
    def labels(self) -> Tensor:
        """Class of each image, [N] int64, in main memory."""

    def fetch(self, index: Tensor) -> Tensor:
        """The images at `index` [B], in its order: uint8 [B, C, H, W]."""

    def take(self: SomeSource, index: Tensor) -> SomeSource:
        """A source of only the images at `index`, in its order."""


class Images(NamedTuple):
    """Images in memory with their labels."""

    images: Tensor  # [N, C, H, W] uint8
    labels: Tensor  # [N] int64

    def fetch(self, index: Tensor) -> Tensor:
        return self.images.index_select(0, index)  # 20 x faster than [index] on a CPU

    def take(self, index: Tensor) -> "Images":
        return Images(self.images[index], self.labels[index])


class ImageData(NamedTuple):
    """A data set as its makers split it; a folder may have no test part."""

    train: Source
    test: Source | None
    class_names: tuple[str, ...]


def stratified_order(labels: Tensor, seed: int) -> Tensor:
    """A random order, [N] indices, any stretch of which holds each class in proportion."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    place = torch.empty(len(labels), dtype=torch.float64)  # in its own class, from 0 to 1
    for label in sorted(set(labels.tolist())):
        members = shuffled[labels[shuffled] == label]
        place[members] = (torch.arange(len(members)) + 0.5).double() / len(members)
    return shuffled[place[shuffled].argsort(stable=True)]


def hold_out(data: SomeSource, num: int, seed: int) -> tuple[SomeSource, SomeSource]:
    """(rest, held out): `num` images, each class in proportion, set apart for tuning."""
    check_whole("hold_out", "num", num, least=1)
    if num >= len(data.labels):
        refuse("hold_out", f"num must leave some of the {len(data.labels)} images", num)
    order = stratified_order(data.labels, seed)
    return data.take(order[num:]), data.take(order[:num])


def per_class(data: SomeSource, num: int, seed: int) -> SomeSource:
    """`num` random images of each class, in random order."""
    check_whole("per_class", "num", num, least=1)
    order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(seed))
    labels = data.labels[order]
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    for label in sorted(set(labels.tolist())):
        members = (labels == label).nonzero().squeeze(1)
        if len(members) < num:
            rule = f"num must be at most the images of class {label}"
            refuse("per_class", rule, f"{num}, of {len(members)}")
        chosen[members[:num]] = True
    return data.take(order[chosen])
