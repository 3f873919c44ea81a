"""Images in memory, and parts of them."""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_whole, refuse


class Images(NamedTuple):
    """Images with their labels."""

    images: Tensor  # [N, C, H, W] uint8
    labels: Tensor  # [N] int64


class ImageData(NamedTuple):
    """A data set as its makers split it."""

    train: Images
    test: Images
    class_names: tuple[str, ...]


def stratified_order(labels: Tensor, seed: int) -> Tensor:
    """A random order, [N] indices, any stretch of which holds each class in proportion."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    place = torch.empty(len(labels), dtype=torch.float64)  # in its own class, from 0 to 1
    for label in sorted(set(labels.tolist())):
        members = shuffled[labels[shuffled] == label]
        place[members] = (torch.arange(len(members)) + 0.5).double() / len(members)
    return shuffled[place[shuffled].argsort(stable=True)]


def take(data: Images, index: Tensor) -> Images:
    """The images at `index`, in its order."""
    return Images(data.images[index], data.labels[index])


def hold_out(data: Images, num: int, seed: int) -> tuple[Images, Images]:
    """(rest, held out): `num` images, each class in proportion, set apart for tuning."""
    check_whole("hold_out", "num", num, least=1)
    if num >= len(data.labels):
        refuse("hold_out", f"num must leave some of the {len(data.labels)} images", num)
    order = stratified_order(data.labels, seed)
    return take(data, order[num:]), take(data, order[:num])


def per_class(data: Images, num: int, seed: int) -> Images:
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
    return take(data, order[chosen])
