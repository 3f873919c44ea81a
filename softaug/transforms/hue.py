"""Turning the colours of a batch around the colour circle."""

import torch
from torch import Tensor

from softaug.transforms.photometric import narrow, widen

# torchvision's way back to uint8: from 0..1 times almost 256, fractions cut off
_TO_LEVELS = (256 - 1e-3) / 255


def adjust_hue(images: Tensor, turn: Tensor) -> Tensor:
    """Hues moved by `turn` [B], in full circles; 0 changes nothing, nor does it change greys.

    A third turns red into green. One channel has no hue.
    """
    if images.shape[1] == 1:
        return images
    wide = widen(images)
    lowest, highest = wide.amin(dim=1), wide.amax(dim=1)  # aminmax takes 15 times as long
    chroma = highest - lowest  # [B, H, W]
    turned = _hue(wide, highest, chroma) + 6 * turn.to(wide.dtype).view(-1, 1, 1)
    hue = turned.remainder_(6)
    out = torch.stack([torch.addcmul(lowest, chroma, share) for share in _shares(hue)], dim=1)
    return narrow(out.mul_(_TO_LEVELS) if images.dtype == torch.uint8 else out, images)


def _hue(wide: Tensor, highest: Tensor, chroma: Tensor) -> Tensor:
    """Where each pixel is on the circle, [B, H, W], -1..5: red 0, green 2, blue 4."""
    red, green, blue = wide.unbind(1)
    after_green = (blue - red).add_(chroma, alpha=2)
    after_blue = (red - green).add_(chroma, alpha=4)
    sector = torch.where(highest == green, after_green, after_blue)
    sector = torch.where(highest == red, green - blue, sector)
    return sector / chroma.clamp(min=torch.finfo(wide.dtype).tiny)  # of a grey it is 0


def _shares(hue: Tensor) -> list[Tensor]:
    """How far red, green and blue are from the lowest to the highest, for hues in 0..6.

    Each is full within 1 of its own place on the circle and none from 2 on.
    """
    red = (hue - 3).abs_().sub_(1).clamp_(0, 1)  # 3 is opposite
    green, blue = ((hue - place).abs_().neg_().add_(2).clamp_(0, 1) for place in (2, 4))
    return [red, green, blue]
