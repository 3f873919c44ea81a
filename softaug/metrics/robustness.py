"""Images shifted out of the frame or under noise, to measure how accuracy falls with them."""

import math
from numbers import Real
from typing import Any

import torch
from torch import Generator, Tensor

from softaug.checks import check_images, check_share, describe, refuse
from softaug.draws import send, uniforms
from softaug.transforms.crop import shift
from softaug.transforms.fill import Fill, check_fill, fill_values
from softaug.transforms.noise import NoiseParams, SoftNoise

_CHUNK = 500  # images at a time: the noise of 10,000 would take a gigabyte at once


def shifted(
    images: Tensor, visible_share: float, generator: Generator | None = None, fill: Fill = 0
) -> Tensor:
    """Shift each image so that `visible_share` of its area is left, in a random direction.

    The shift is by whole pixels and anything from straight across to straight down, each
    sample's own; the share is met to half a row of pixels. One image [C, H, W] or a batch
    [B, C, H, W]; `fill` as in `SoftCrop`.

    >>> int(shifted(torch.ones(1, 10, 10), 0.5).sum()) in range(45, 56)
    True
    """
    check_images("shifted", images)
    check_share("shifted", "visible_share", visible_share)
    fill = check_fill("shifted", fill)
    batch = images if images.ndim == 4 else images[None]
    drawn = uniforms("shifted", images, 3, purpose=0, generator=generator, key=None)
    dx, dy = _offsets(drawn, images.shape[-2], images.shape[-1], visible_share)
    values = fill_values("shifted", fill, batch)
    moved = shift(batch, send(dx, images.device), send(dy, images.device), values)
    return moved.view(images.shape)


def noisy(images: Tensor, sd: float, generator: Generator | None = None) -> Tensor:
    """Add normal noise of standard deviation `sd`, each image its own.

    As in `SoftNoise`, `sd` is measured against the full range: 255 for uint8 (the result is
    rounded and clamped), 1 for floats (not clamped). One image [C, H, W] or a batch.

    >>> image = torch.zeros(3, 64, 64)
    >>> spread = noisy(image, 0.1, torch.Generator().manual_seed(0)).std()
    >>> bool(abs(spread - 0.1) < 0.003)
    True
    """
    check_images("noisy", images)
    _check_sd(sd)
    batch = images if images.ndim == 4 else images[None]
    drawn = uniforms("noisy", images, 1, purpose=0, generator=generator, key=None)[:, 0]
    field = (drawn * 2**32).long()
    alpha = torch.full_like(drawn, sd)
    noise = SoftNoise(noise_sd=1.0)
    parts = []
    for start in range(0, len(batch), _CHUNK):
        some = slice(start, start + _CHUNK)
        params = NoiseParams(alpha[some], field[some], 1 - alpha[some])
        parts.append(noise.apply(batch[some], params))
    return torch.cat(parts).view(images.shape)


def _offsets(drawn: Tensor, height: int, width: int, share: float) -> tuple[Tensor, Tensor]:
    """Shifts [B] that leave `share` of the area: share^t of the width, the rest of it down.

    With t even in 0..1: from straight across (1) to straight down (0).
    """
    most = math.floor(width * (1 - share) + 1e-9)  # more would leave less than `share` by itself
    kept = width - (width * (1 - share ** drawn[:, 0])).round().clamp_max(most)
    dy = height - (share * height * width / kept.clamp_min(1)).round().clamp_max(height)
    signs = torch.where(drawn[:, 1:] < 0.5, -1, 1)
    return (signs[:, 0] * (width - kept)).long(), (signs[:, 1] * dy).long()


def _check_sd(sd: Any) -> None:
    number = isinstance(sd, Real) and not isinstance(sd, bool)
    if not number or not 0 <= sd < math.inf:
        refuse("noisy", "sd must be a finite number >= 0", describe(sd))
