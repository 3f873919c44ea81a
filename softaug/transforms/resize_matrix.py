"""Cutting a window out of each image of a batch and resizing it, by two matrix products.

Resizing is linear and works on rows and columns apart: an image is multiplied by a matrix of
weights from either side, and every image of a batch has two matrices of its own.
"""

import torch
from torch import Tensor

from softaug.transforms.windows import WindowParams


def resize_windows(
    images: Tensor, windows: WindowParams, size: int, fill: Tensor | None = None
) -> Tensor:
    """The window of each image [B, C, H, W], resized to [B, C, size, size].

    Antialiased bilinear, as torchvision's `resized_crop` but without its rounding between rows
    and columns: uint8 values differ by at most 1. Where a window leaves its image it sees
    `fill`, [B or 1, C or 1, 1, 1]; None is 0.
    """
    num, channels, height, width = images.shape
    wide = torch.promote_types(images.dtype, torch.float32)
    across = window_weights(windows.left, windows.width, size, width, wide)
    down = window_weights(windows.top, windows.height, size, height, wide)
    # What is missing in the weights is fill's: with fill taken off before, 0 stands for it.
    shown = images if fill is None else images.to(wide) - fill
    # The colours of a row side by side: two products for an image, not six; a third of the time.
    rows = shown.transpose(1, 2).to(wide, memory_format=torch.contiguous_format)
    narrow = rows.reshape(num, height * channels, width) @ across.transpose(1, 2)
    small = down @ narrow.view(num, height, channels * size)
    out = small.view(num, size, channels, size).transpose(1, 2)
    return _like(out if fill is None else out + fill, images)


def window_weights(
    start: Tensor, length: Tensor, size: int, edge: int, dtype: torch.dtype
) -> Tensor:
    """What each pixel of an edge is worth to each of the `size` resized ones, [B, size, edge].

    `start` and `length` [B] are the window's along that edge. A resized pixel is a mean of the
    window's pixels around its own place, with weights that fall linearly to 0 over one pixel,
    or over one resized pixel where these are larger. Rows sum to 1, to less where some of the
    weight falls outside the edge.
    """
    start, length = start.to(dtype)[:, None], length.to(dtype)[:, None]
    scale = length / size
    reach = scale.clamp(min=1)
    place = (torch.arange(size, device=start.device, dtype=dtype) + 0.5) * scale - 0.5  # [B, size]
    slope = 1 / reach
    pixel = torch.arange(edge, device=start.device, dtype=dtype) - start  # [B, edge], in the window
    away = pixel[:, None] - place[:, :, None]  # [B, size, edge]
    weight = away.abs_().mul_(-slope[:, :, None]).add_(1).clamp_(min=0)
    share = ((pixel >= 0) & (pixel < length)).to(dtype)[:, None]
    return weight.mul_(share).div_(_total(place, reach, length)[:, :, None])


def _total(place: Tensor, reach: Tensor, length: Tensor) -> Tensor:
    """Sum of the weights of all pixels 0..length - 1 around each place, in the edge or not.

    The weights rise evenly up to the place and fall evenly after it: two arithmetic series.
    """
    first = (place - reach).ceil().clamp(min=0)
    middle = place.floor()
    last = torch.minimum((place + reach).floor(), length - 1)
    rising = (middle - first + 1) * (1 - (place - (first + middle) / 2) / reach)
    falling = (last - middle) * (1 - ((middle + 1 + last) / 2 - place) / reach)
    return rising + falling


def _like(values: Tensor, images: Tensor) -> Tensor:
    """In the type of the images; means of them are within their range, but for rounding."""
    if images.dtype == torch.uint8:
        values = values.round()
    return values.to(images.dtype, memory_format=torch.contiguous_format).contiguous()
