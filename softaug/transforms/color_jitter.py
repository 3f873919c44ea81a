"""Random brightness, contrast, saturation and hue, and now and then no color at all."""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_not_negative, check_share
from softaug.draws import to_range
from softaug.transforms.base import SoftTransform
from softaug.transforms.operations import apply_where, check_operable
from softaug.transforms.photometric import (
    adjust_brightness,
    adjust_contrast,
    adjust_saturation,
    narrow,
    widen,
)
from softaug.transforms.strength import Samples


class JitterParams(NamedTuple):
    """What is done to each image's colors."""

    amount: Tensor  # [B, 4]: factors of brightness, contrast, saturation; turn of the hue
    order: Tensor  # [B, 4] int64: which of these is first, second, ...
    jittered: Tensor  # [B] bool: whether any of it is done
    gray: Tensor  # [B] bool: whether the image is made gray after
    visible: Tensor  # [B], all 1


class ColorJitter(SoftTransform[JitterParams]):
    """Torchvision's ColorJitter with probability `p`, then RandomGrayscale with `gray_p`.

    Factors of brightness, contrast and saturation are even in 1 - x..1 + x (never below 0), the
    turn of the hue is even in -hue..hue; each image has its own, and its own order of the four.
    Labels stay as they come. Images are uint8, or floats in [0, 1], of 1 or 3 channels.
    """

    purpose = 12
    num_uniforms = 10

    def __init__(
        self,
        brightness: float = 0.4,
        contrast: float = 0.4,
        saturation: float = 0.4,
        hue: float = 0.1,
        p: float = 0.8,
        gray_p: float = 0.2,
    ) -> None:
        super().__init__(k=1.0)
        self.brightness = check_not_negative(self.name, "brightness", brightness)
        self.contrast = check_not_negative(self.name, "contrast", contrast)
        self.saturation = check_not_negative(self.name, "saturation", saturation)
        self.hue = check_not_negative(self.name, "hue", hue, most=0.5)
        self.p = check_share(self.name, "p", p)
        self.gray_p = check_share(self.name, "gray_p", gray_p)

    @property
    def _widths(self) -> tuple[float, ...]:
        return self.brightness, self.contrast, self.saturation, self.hue

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> JitterParams:
        columns = zip(uniform[:, :4].unbind(1), self._widths, strict=True)
        factors = [to_range(u, max(0.0, 1 - width), 1 + width) for u, width in columns]
        factors[_HUE] = to_range(uniform[:, _HUE], -self.hue, self.hue)
        order = uniform[:, 4:8].argsort(dim=1)  # every order is equally likely
        jittered, gray = uniform[:, 8] < self.p, uniform[:, 9] < self.gray_p
        visible = torch.ones_like(uniform[:, 0])
        return JitterParams(torch.stack(factors, dim=1), order, jittered, gray, visible)

    def _render(self, batch: Tensor, params: JitterParams) -> Tensor:
        check_operable(self.name, batch, params.visible)
        for kind in params.order.unbind(1):  # [B]: which comes now
            out = batch.clone()
            for index, (adjust, width) in enumerate(zip(ADJUST, self._widths, strict=True)):
                if width > 0:
                    now, amount = params.jittered & (kind == index), params.amount[:, index]
                    out = apply_where(out, now, adjust, batch, amount)
            batch = out
        none = torch.zeros_like(params.visible)
        return apply_where(batch.clone(), params.gray, adjust_saturation, batch, none)


# torchvision's way back to uint8: from 0..1 times almost 256, fractions cut off
_TO_LEVELS = (256 - 1e-3) / 255


def adjust_hue(images: Tensor, turn: Tensor) -> Tensor:
    """Hues moved by `turn` [B], in full circles; 0 changes nothing, nor does it change grays.

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
    return sector / chroma.clamp(min=torch.finfo(wide.dtype).tiny)  # of a gray it is 0


def _shares(hue: Tensor) -> list[Tensor]:
    """How far red, green and blue are from the lowest to the highest, for hues in 0..6.

    Each is full within 1 of its own place on the circle and none from 2 on.
    """
    red = (hue - 3).abs_().sub_(1).clamp_(0, 1)  # 3 is opposite
    green, blue = ((hue - place).abs_().neg_().add_(2).clamp_(0, 1) for place in (2, 4))
    return [red, green, blue]


ADJUST = (adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue)


_HUE = 3
