"""Crop-and-resize for photographs of any size: the paper's soft one and the usual hard one."""

import math

import torch
from torch import Tensor

from softaug.checks import check_choice, check_range, check_whole, refuse
from softaug.draws import to_range, to_truncated_normal
from softaug.pixels import Fill
from softaug.transforms.base import Power, Strength
from softaug.transforms.strength import SIGMA, Strengths, check_strength
from softaug.transforms.windows import WindowCrop, WindowParams

OFFSETS = {"half": 0.5, "literal": 1.0}  # of sigma (W + w)
RELATIVE_TO = ("edges", "short-edge", "pixels")
TRIES = 10  # torchvision's


class SoftResizedCrop(WindowCrop):
    """A window of random size and position, resized to size x size (the paper's ImageNet crop).

    Each edge is shortened by a normal number of sd `sigma` times what may be lost, where that
    is above 0: every other window has the whole edge, none less than `min_size` of `size`
    pixels (None is half). Its centre is off the image's by normal numbers of sd `sigma` times
    the mean of both widths (heights), truncated so that some of the image stays; "literal"
    `offsets` are the paper's twice that. The window may leave the image: `fill` is seen there.

    `relative_to` says what is shortened to where: "edges", each edge of the image to min_size /
    size of it; "short-edge", the short edge for both, which keeps windows nearly square; or
    "pixels", each edge to `min_size` pixels of the image.

    >>> from softaug import DrawKey
    >>> photo = torch.ones(3, 375, 500)
    >>> image, label = SoftResizedCrop(size=224)(photo, 7, key=DrawKey(seed=0, epoch=0, index=5))
    >>> image.shape, label.label, round(label.retained, 4)
    (torch.Size([3, 224, 224]), 7, 0.6982)
    """

    purpose = 10
    num_uniforms = 4
    paceable = SIGMA

    def __init__(
        self,
        size: int = 224,
        sigma: Strengths = 0.3,
        k: Power = 2.0,
        min_size: int | None = None,
        fill: Fill = 0,
        antialias: bool = True,
        offsets: str = "half",
        relative_to: str = "edges",
        share_of: str = "image",
    ) -> None:
        super().__init__(size, k, fill, antialias, share_of)
        self.sigma = check_strength(self.name, SIGMA, sigma)
        if min_size is not None and check_whole(self.name, "min_size", min_size, least=1) > size:
            remedy = "it is what the smallest window has of them"
            refuse(self.name, f"min_size must be at most size, {size}", min_size, remedy)
        self.min_size = size / 2 if min_size is None else min_size
        check_choice(self.name, "offsets", offsets, tuple(OFFSETS))
        check_choice(self.name, "relative_to", relative_to, RELATIVE_TO)
        self.offsets, self.relative_to = offsets, relative_to

    def _windows(
        self, uniform: Tensor, height: Tensor, width: Tensor, strength: Strength
    ) -> tuple[Tensor, ...]:
        shorter = torch.minimum(height, width)
        short = self.relative_to == "short-edge"
        across = self._length(uniform[:, 0], shorter if short else width, strength)
        down = self._length(uniform[:, 1], shorter if short else height, strength)
        left = self._start(uniform[:, 2], width, across, strength)
        top = self._start(uniform[:, 3], height, down, strength)
        return left, top, across, down

    def _length(self, uniform: Tensor, longest: Tensor, sigma: Strength) -> Tensor:
        """Shorten an edge by a rectified normal loss, clipped."""
        edge = longest.to(uniform.dtype)
        if self.relative_to == "pixels":
            most = (edge - self.min_size).clamp(min=0)
        else:
            most = edge * (self.size - self.min_size) / self.size
        normal = math.sqrt(2) * torch.erfinv(2 * uniform - 1)
        lost = torch.minimum((sigma * most * normal).clamp(min=0), most)
        return longest - lost.floor().long()

    def _start(self, uniform: Tensor, edge: Tensor, length: Tensor, sigma: Strength) -> Tensor:
        """Return where the window begins: central, then shifted by whole pixels, toward zero."""
        sd = 2 * OFFSETS[self.offsets] * sigma  # in units of the largest shift, (W + w) / 2
        shift = to_truncated_normal(uniform, sd, limit=1) * (edge + length) / 2
        start = (edge - length).div(2, rounding_mode="floor") + shift.trunc().long()
        return start.clamp(1 - length, edge - 1)  # a half pixel may have been rounded away


class UniformResizedCrop(WindowCrop):
    """The usual crop-and-resize: an even share of the area, an aspect ratio even in its log.

    As torchvision's RandomResizedCrop draws it: ten tries, then the largest central window of
    an allowed ratio; it never leaves the image. It reports what is left like
    `SoftResizedCrop`; for the hard baseline use `SoftLoss(soften="none")`, or `k=math.inf`.
    """

    purpose = 11
    num_uniforms = 2 * TRIES + 2

    def __init__(
        self,
        size: int = 224,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        k: Power = 2.0,
        antialias: bool = True,
    ) -> None:
        super().__init__(size, k, 0, antialias, "image")
        self.scale = check_range(self.name, "scale", scale, most=1.0)
        self.ratio = check_range(self.name, "ratio", ratio)

    def _windows(
        self, uniform: Tensor, height: Tensor, width: Tensor, strength: Strength
    ) -> tuple[Tensor, ...]:
        area = to_range(uniform[:, :TRIES], *self.scale) * (height * width)[:, None]
        ratio = to_range(uniform[:, TRIES:-2], *map(math.log, self.ratio)).exp()  # [B, tries]
        across, down = (area * ratio).sqrt().round().long(), (area / ratio).sqrt().round().long()
        fits = (across > 0) & (across <= width[:, None]) & (down > 0) & (down <= height[:, None])
        any_fits, first = fits.any(1), fits.int().argmax(1, keepdim=True)
        # The largest window of an allowed ratio.
        widest = (height.double() * self.ratio[1]).round().long().clamp(min=1).minimum(width)
        highest = (width.double() / self.ratio[0]).round().long().clamp(min=1).minimum(height)
        across = torch.where(any_fits, across.gather(1, first)[:, 0], widest)
        down = torch.where(any_fits, down.gather(1, first)[:, 0], highest)
        left = torch.where(
            any_fits, _draw_whole(uniform[:, -2], width - across), (width - across) // 2
        )
        top = torch.where(
            any_fits, _draw_whole(uniform[:, -1], height - down), (height - down) // 2
        )
        return left, top, across, down


def _draw_whole(uniform: Tensor, most: Tensor) -> Tensor:
    """Return whole numbers, uniform in 0..most."""
    return (uniform * (most + 1)).floor().long()


def resize_windows(
    images: Tensor, windows: WindowParams, size: int, fill: Tensor | None = None
) -> Tensor:
    """Resize the window of each image [B, C, H, W] to [B, C, size, size].

    Antialiased bilinear, as torchvision's `resized_crop` but without its rounding between rows
    and columns: uint8 values differ by at most 1. Where a window leaves its image it sees
    `fill`, [B or 1, C or 1, 1, 1]; None is 0.
    """
    num, channels, height, width = images.shape
    wide = torch.promote_types(images.dtype, torch.float32)
    across = compute_window_weights(windows.left, windows.width, size, width, wide)
    down = compute_window_weights(windows.top, windows.height, size, height, wide)
    # What is missing in the weights is fill's: with fill taken off before, 0 stands for it.
    shifted = images if fill is None else images.to(wide) - fill
    # The colours of a row side by side: two products for an image, not six; a third of the time.
    rows = shifted.transpose(1, 2).to(wide, memory_format=torch.contiguous_format)
    narrow = rows.reshape(num, height * channels, width) @ across.transpose(1, 2)
    small = down @ narrow.view(num, height, channels * size)
    out = small.view(num, size, channels, size).transpose(1, 2)
    out = out if fill is None else out + fill
    out = out.round() if images.dtype == torch.uint8 else out  # means are within the range
    return out.to(images.dtype, memory_format=torch.contiguous_format).contiguous()


def compute_window_weights(
    start: Tensor, length: Tensor, size: int, edge: int, dtype: torch.dtype
) -> Tensor:
    """Compute the weight of each pixel of an edge in each resized one, [B, size, edge].

    `start` and `length` [B] are the window's along that edge. A resized pixel is a mean of the
    window's pixels around its own position, with weights that fall linearly to 0 over one pixel,
    or over one resized pixel where these are larger. Rows sum to 1, to less where some of the
    weight falls outside the edge.
    """
    start, length = start.to(dtype)[:, None], length.to(dtype)[:, None]
    scale = length / size
    reach = scale.clamp(min=1)
    position = (
        torch.arange(size, device=start.device, dtype=dtype) + 0.5
    ) * scale - 0.5  # [B, size]
    slope = 1 / reach
    pixel = torch.arange(edge, device=start.device, dtype=dtype) - start  # [B, edge], in the window
    distance = pixel[:, None] - position[:, :, None]  # [B, size, edge]
    weight = distance.abs_().mul_(-slope[:, :, None]).add_(1).clamp_(min=0)
    share = ((pixel >= 0) & (pixel < length)).to(dtype)[:, None]
    return weight.mul_(share).div_(_total(position, reach, length)[:, :, None])


def _total(position: Tensor, reach: Tensor, length: Tensor) -> Tensor:
    """Sum the weights of all pixels 0..length - 1 around each position, in the edge or not.

    The weights rise evenly up to the position and fall evenly after it: two arithmetic series.
    """
    first = (position - reach).ceil().clamp(min=0)
    middle = position.floor()
    last = torch.minimum((position + reach).floor(), length - 1)
    rising = (middle - first + 1) * (1 - (position - (first + middle) / 2) / reach)
    falling = (last - middle) * (1 - ((middle + 1 + last) / 2 - position) / reach)
    return rising + falling
