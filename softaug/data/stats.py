"""Mean and spread of each colour."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.data.images import Images, Source

# Of ImageNet's training images, in 0..1; networks for photographs are used to them.
IMAGENET_MEAN, IMAGENET_SD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ChannelStats(NamedTuple):
    """Mean and standard deviation of each channel, in pixels 0..255."""

    mean: list[float]
    sd: list[float]


def channel_stats(source: Source) -> ChannelStats:
    """Exact for images in memory; ImageNet's for files, which would all have to be decoded.

    >>> channel_stats(Images(torch.tensor([[[[1, 3]]]], dtype=torch.uint8), torch.tensor([0])))
    ChannelStats(mean=[2.0], sd=[1.4142135623730951])
    """
    if not isinstance(source, Images):
        return ChannelStats([255 * v for v in IMAGENET_MEAN], [255 * v for v in IMAGENET_SD])
    if source.images[:, :1].numel() < 2:
        refuse("channel_stats", "there must be two pixels or more", list(source.images.shape))
    found = [_of_channel(channel) for channel in source.images.unbind(1)]
    return ChannelStats([mean for mean, _ in found], [sd for _, sd in found])


def _of_channel(pixels: Tensor) -> tuple[float, float]:
    """From how often each of the 256 values occurs: whole numbers, so nothing is rounded."""
    counts = torch.bincount(pixels.flatten(), minlength=256).tolist()
    num = sum(counts)
    total = sum(value * count for value, count in enumerate(counts))
    squares = sum(value * value * count for value, count in enumerate(counts))
    return total / num, math.sqrt((num * squares - total * total) / (num * (num - 1)))
