"""Operations on the values of a batch, with one factor, turn or strength [B] for its images.

uint8 images get torchvision's pixels (hues to a gray level). Float images are values in [0, 1],
which are not rounded; `posterize` puts them on 2^bits levels, `equalize` on the 256 of uint8.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

_GRAY = (0.2989, 0.587, 0.114)  # shares of red, green and blue
# torchvision's way back to uint8: from 0..1 times almost 256, fractions cut off
_ALMOST_256 = 256 - 1e-3


def adjust_brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply values by `factor` [B]: 0 is black, 1 changes nothing."""
    return _narrow(_widen(images) * _split(images, factor)[0], images)


def adjust_saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply colors by `factor` [B]: 0 is gray, 1 changes nothing; one channel has no color."""
    return images if images.shape[1] == 1 else _blend(images, _gray(images), factor)


def adjust_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply the distance from the image's mean gray by `factor` [B]: 1 changes nothing."""
    return _blend(images, _gray(images).mean(dim=(1, 2, 3), keepdim=True), factor)


def adjust_sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply the distance from the blurred image by `factor` [B]; the outermost pixels stay."""
    if min(images.shape[-2:]) <= 2:
        return images
    wide, (_, rest) = _widen(images), _split(images, factor)
    # Mean of each inner pixel, five times, and its eight neighbors, [B, C, H - 2, W - 2].
    rows = wide[..., :-2, :] + wide[..., 1:-1, :] + wide[..., 2:, :]
    nine = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    blurred = (nine + 4 * wide[..., 1:-1, 1:-1]) / 13
    if images.dtype == torch.uint8:
        blurred = blurred.round_()
    change = F.pad(blurred - wide[..., 1:-1, 1:-1], (1, 1, 1, 1))
    return _narrow(torch.addcmul(wide, change, rest), images)


def adjust_hue(images: Tensor, turn: Tensor) -> Tensor:
    """Move hues by `turn` [B], in full circles; 0 changes nothing, nor does it change grays.

    A third turns red into green. One channel has no hue.
    """
    if images.shape[1] == 1:
        return images
    wide = _widen(images)
    lowest, highest = wide.amin(dim=1), wide.amax(dim=1)  # aminmax takes 15 times as long
    chroma = highest - lowest  # [B, H, W]
    turned = _find_hue(wide, highest, chroma) + 6 * turn.to(wide.dtype).view(-1, 1, 1)
    hue = turned.remainder_(6)
    # Each color is full within 1 of its own place on the circle and none from 2 on.
    red = (hue - 3).abs_().sub_(1).clamp_(0, 1)  # 3 is opposite
    green, blue = ((hue - center).abs_().neg_().add_(2).clamp_(0, 1) for center in (2, 4))
    colors = [torch.addcmul(lowest, chroma, share) for share in (red, green, blue)]
    out = torch.stack(colors, dim=1)
    return _narrow(out.mul_(_ALMOST_256 / 255) if images.dtype == torch.uint8 else out, images)


def _find_hue(wide: Tensor, highest: Tensor, chroma: Tensor) -> Tensor:
    """Find each pixel's hue on the circle, [B, H, W], -1..5: red 0, green 2, blue 4."""
    red, green, blue = wide.unbind(1)
    after_green = (blue - red).add_(chroma, alpha=2)
    after_blue = (red - green).add_(chroma, alpha=4)
    sector = torch.where(highest == green, after_green, after_blue)
    sector = torch.where(highest == red, green - blue, sector)
    return sector / chroma.clamp(min=torch.finfo(wide.dtype).tiny)  # of a gray it is 0


def posterize(images: Tensor, strength: Tensor) -> Tensor:
    """Keep the highest 8 (strength 0, all) to 2 (strength 1) bits of each value."""
    bits = (8 - 6 * strength.abs()).round().view(-1, 1, 1, 1)
    if images.dtype == torch.uint8:
        return images & (256 - torch.exp2(8 - bits)).to(torch.uint8)
    levels = torch.exp2(bits).to(images.dtype)
    coarse = torch.minimum((images * levels).floor(), levels - 1) / levels
    return torch.where(bits == 8, images, coarse)


def solarize(images: Tensor, strength: Tensor) -> Tensor:
    """Invert the values from a threshold up: none at strength 0, all at 1."""
    top = _top(images)
    # torchvision's threshold 255 turns white black at strength 0
    threshold = torch.where(strength == 0, 2 * top, top * (1 - strength.abs()))
    chosen = images >= threshold.to(_wide_type(images)).view(-1, 1, 1, 1)
    if images.dtype == torch.uint8:
        return images ^ chosen.to(torch.uint8).mul_(255)  # four times as fast as where
    return torch.where(chosen, 1 - images, images)


def autocontrast(images: Tensor, strength: Tensor) -> Tensor:
    """Stretch each channel to the full range; a channel of one value stays as it is."""
    wide = _widen(images)
    low, high = wide.amin(dim=(2, 3), keepdim=True), wide.amax(dim=(2, 3), keepdim=True)
    flat = high == low
    step = ((high - low) * (1 / _top(images))).masked_fill(flat, 1)
    return _narrow((wide - low.masked_fill(flat, 0)) / step, images)


def equalize(images: Tensor, strength: Tensor) -> Tensor:
    """Spread the values of each channel so that all are about equally frequent.

    A channel whose highest value leaves fewer than 255 pixels below it stays as it is.
    """
    is_uint8 = images.dtype == torch.uint8
    level = images.long() if is_uint8 else (_widen(images) * _ALMOST_256).long().clamp(0, 255)
    level = level.flatten(2)  # [B, C, H * W]
    count = level.new_zeros(*level.shape[:2], 256)
    count.scatter_add_(2, level, torch.ones_like(level))
    brightest = level.amax(dim=2, keepdim=True)
    # A level's new value counts the steps of 1 / 255 of all pixels (but the brightest level's)
    # that lie below it.
    step = (level.shape[2] - count.gather(2, brightest)) // 255
    below = count.cumsum(2) - count
    table = ((below + step // 2) // step.clamp(min=1)).clamp(max=255).masked_fill_(below == 0, 0)
    even = table.gather(2, level).view(images.shape)
    even = even.to(images.dtype) if is_uint8 else (even / 255).to(images.dtype)
    return torch.where((step == 0).unsqueeze(-1), images, even)


def _blend(images: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    """Return the sum of factor * images and (1 - factor) * other, within the range."""
    own, rest = _split(images, factor)
    # addcmul rounds once, as torchvision's sum does; else values on a whole number differ
    return _narrow(torch.addcmul(_widen(images) * own, other, rest), images)


def _split(images: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """Return the image's own factor and the other image's, [B, 1, 1, 1]."""
    own = factor.view(-1, 1, 1, 1)
    return own.to(_wide_type(images)), (1 - own).to(_wide_type(images))


def _gray(images: Tensor) -> Tensor:
    """Compute the brightness of each pixel, [B, 1, H, W]; whole numbers for uint8."""
    wide = _widen(images)
    if images.shape[1] == 1:
        return wide
    red, green, blue = wide.unsqueeze(2).unbind(1)
    gray = red.mul(_GRAY[0]).add_(green, alpha=_GRAY[1]).add_(blue, alpha=_GRAY[2])
    return gray.floor() if images.dtype == torch.uint8 else gray


def _top(images: Tensor) -> int:
    """Return the highest value of the type."""
    return 255 if images.dtype == torch.uint8 else 1


def _widen(images: Tensor) -> Tensor:
    return images.to(_wide_type(images))


def _wide_type(images: Tensor) -> torch.dtype:
    """Return the type, at least float32."""
    return torch.float64 if images.dtype == torch.float64 else torch.float32


def _narrow(wide: Tensor, like: Tensor) -> Tensor:
    """Clamp to the range and convert to the type of `like`; uint8 cuts fractions off."""
    return wide.clamp(0, _top(like)).to(like.dtype)
