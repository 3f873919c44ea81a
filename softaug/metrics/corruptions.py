"""Corrupt images, to measure how accuracy falls: occlusion, shifts and noise."""

import math

import torch
from torch import Generator, Tensor

from softaug.checks import check_images, check_not_negative, check_share
from softaug.draws import draw_uniforms, send
from softaug.pixels import (
    Fill,
    add_normal_noise,
    check_fill,
    erase,
    make_fill,
    shift,
    wrap_like,
)


def occlude(
    images: Tensor, fraction: float, generator: Generator | None = None, fill: Fill = 0
) -> Tensor:
    """Hide one square of `fraction` of the area, at a random position of each image.

    The square lies wholly inside; where none of that area fits, it is a rectangle over the
    full short side. Sides are rounded to whole pixels. One image [C, H, W] or a batch
    [B, C, H, W]; `fill` as in `SoftCrop` (0 after normalising is the data set's mean).

    >>> hidden = occlude(torch.ones(1, 10, 10), 0.36)
    >>> int(hidden.sum())
    64
    """
    check_images("occlude", images)
    check_share("occlude", "fraction", fraction)
    fill = check_fill("occlude", fill)
    batch = images if images.ndim == 4 else images[None]
    height, width = images.shape[-2:]
    tall, wide = patch_sides(height, width, fraction)
    position = draw_uniforms("occlude", images, 2, purpose=0, generator=generator, key=None)
    top = (position[:, 0] * (height - tall + 1)).long()
    left = (position[:, 1] * (width - wide + 1)).long()
    top, left = send(top, images.device), send(left, images.device)
    values = make_fill("occlude", fill, batch)
    return wrap_like(erase(batch, top, left, tall, wide, values).view(images.shape), images)


def patch_sides(height: int, width: int, fraction: float) -> tuple[int, int]:
    """Return height and width of the hidden patch, in pixels.

    >>> patch_sides(10, 10, 0.5), patch_sides(10, 40, 0.5)
    ((7, 7), (10, 20))
    """
    side = math.sqrt(fraction * height * width)
    short = min(height, width)
    if side <= short:
        return round(side), round(side)
    length = round(fraction * max(height, width))
    return (length, short) if height > width else (short, length)


_CHUNK = 500  # images at a time: the noise of 10,000 would take a gigabyte at once


def shift_images(
    images: Tensor, visible_share: float, generator: Generator | None = None, fill: Fill = 0
) -> Tensor:
    """Shift each image so that `visible_share` of its area is left, in a random direction.

    The shift is by whole pixels and anything from straight across to straight down, each
    sample's own; the share is met to half a row of pixels. One image [C, H, W] or a batch
    [B, C, H, W]; `fill` as in `SoftCrop`.

    >>> int(shift_images(torch.ones(1, 10, 10), 0.5).sum()) in range(45, 56)
    True
    """
    check_images("shift_images", images)
    check_share("shift_images", "visible_share", visible_share)
    fill = check_fill("shift_images", fill)
    batch = images if images.ndim == 4 else images[None]
    drawn = draw_uniforms("shift_images", images, 3, purpose=0, generator=generator, key=None)
    dx, dy = _offsets(drawn, images.shape[-2], images.shape[-1], visible_share)
    values = make_fill("shift_images", fill, batch)
    moved = shift(batch, send(dx, images.device), send(dy, images.device), values)
    return wrap_like(moved.view(images.shape), images)


def add_noise(images: Tensor, sd: float, generator: Generator | None = None) -> Tensor:
    """Add normal noise of standard deviation `sd`, each image its own.

    As in `SoftNoise`, `sd` is measured against the full range: 255 for uint8 (the result is
    rounded and clamped), 1 for floats (not clamped). One image [C, H, W] or a batch.

    >>> image = torch.zeros(3, 64, 64)
    >>> spread = add_noise(image, 0.1, torch.Generator().manual_seed(0)).std()
    >>> bool(abs(spread - 0.1) < 0.003)
    True
    """
    check_images("add_noise", images)
    check_not_negative("add_noise", "sd", sd)
    batch = images if images.ndim == 4 else images[None]
    drawn = draw_uniforms("add_noise", images, 1, purpose=0, generator=generator, key=None)[:, 0]
    field = (drawn * 2**32).long()
    alpha = torch.full_like(drawn, sd)
    alpha, field = send(alpha, images.device), send(field, images.device)
    noisy = []
    for start in range(0, len(batch), _CHUNK):
        rows = slice(start, start + _CHUNK)
        noisy.append(add_normal_noise(batch[rows], 1.0, alpha[rows], field[rows]))
    return wrap_like(torch.cat(noisy).view(images.shape), images)


def _offsets(drawn: Tensor, height: int, width: int, share: float) -> tuple[Tensor, Tensor]:
    """Return shifts [B] that leave `share` of the area: share^t of the width, the rest of it down.

    With t even in 0..1: from straight across (1) to straight down (0).
    """
    most = math.floor(width * (1 - share) + 1e-9)  # more would leave less than `share` by itself
    visible_width = width - (width * (1 - share ** drawn[:, 0])).round().clamp_max(most)
    dy = height - (share * height * width / visible_width.clamp_min(1)).round().clamp_max(height)
    signs = torch.where(drawn[:, 1:] < 0.5, -1, 1)
    return (signs[:, 0] * (width - visible_width)).long(), (signs[:, 1] * dy).long()
