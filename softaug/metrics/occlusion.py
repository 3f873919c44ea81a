"""Images with a part hidden, to measure how accuracy falls with what is seen."""

import math

import torch
from torch import Generator, Tensor

from softaug.checks import check_images, check_share
from softaug.draws import uniforms
from softaug.transforms.erase import EraseParams, SoftErase
from softaug.transforms.fill import Fill, check_fill


def occlude(
    images: Tensor, fraction: float, generator: Generator | None = None, fill: Fill = 0
) -> Tensor:
    """Hide one square of `fraction` of the area, at a random place of each image.

    The square lies wholly inside; where none of that area fits, it is a rectangle over the
    full short side. Sides are rounded to whole pixels. One image [C, H, W] or a batch
    [B, C, H, W]; `fill` as in `SoftCrop` (0 after normalising is the data set's mean).

    >>> hidden = occlude(torch.ones(1, 10, 10), 0.36)
    >>> int(hidden.sum())
    64
    """
    check_images("occlude", images)
    check_share("occlude", "fraction", fraction)
    check_fill("occlude", fill)
    height, width = images.shape[-2:]
    tall, wide = patch_sides(height, width, fraction)
    place = uniforms("occlude", images, 2, purpose=0, generator=generator, key=None)
    top = (place[:, 0] * (height - tall + 1)).long()
    left = (place[:, 1] * (width - wide + 1)).long()
    visible = torch.full_like(place[:, 0], 1 - tall * wide / (height * width))
    sides = torch.full_like(top, tall), torch.full_like(top, wide)
    return SoftErase(fill=fill).apply(images, EraseParams(top, left, *sides, visible))


def patch_sides(height: int, width: int, fraction: float) -> tuple[int, int]:
    """Height and width of the hidden patch, in pixels.

    >>> patch_sides(10, 10, 0.5), patch_sides(10, 40, 0.5)
    ((7, 7), (10, 20))
    """
    side = math.sqrt(fraction * height * width)
    short = min(height, width)
    if side <= short:
        return round(side), round(side)
    length = round(fraction * max(height, width))
    return (length, short) if height > width else (short, length)
