"""A rectangle of each image is erased: random erasing and Cutout, with softening."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_range, check_share, check_whole
from softaug.draws import to_range
from softaug.pixels import Fill, check_fill, erase, make_fill
from softaug.transforms.base import Power, SoftTransform
from softaug.transforms.strength import STRENGTH, Auto, Samples, check_strength


class EraseParams(NamedTuple):
    """The erased rectangle, wholly inside the image, and the share of the image left."""

    top: Tensor  # [B] int64
    left: Tensor  # [B] int64
    height: Tensor  # [B] int64, 0 where nothing is erased
    width: Tensor  # [B] int64
    visible: Tensor  # [B]


class _Erase(SoftTransform[EraseParams]):
    """Erasing a rectangle that a subclass draws."""

    paceable = STRENGTH

    def __init__(self, k: Power, fill: Fill, strength: float | Auto) -> None:
        super().__init__(k)
        self.fill = check_fill(self.name, fill)
        self.strength = check_strength(self.name, STRENGTH, strength)

    def _render(self, batch: Tensor, params: EraseParams) -> Tensor:
        return erase(batch, *params[:4], make_fill(self.name, self.fill, batch))


class SoftErase(_Erase):
    """Erase, with probability `p`, a rectangle inside each image (random erasing, softened).

    Its share of the image is even in `area`, times `strength`; its height / width log-even in
    `ratio`; where it would not fit, its sides are cut to the image's. visible = 1 - erased
    share, counted in pixels. After a crop the product counts area that was blank already a
    second time. A `strength` of "auto" is set by a `Pacer` while training goes on.
    """

    purpose = 4
    num_uniforms = 5

    def __init__(
        self,
        area: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        k: Power = 2.0,
        fill: Fill = 0,
        p: float = 1.0,
        strength: float | Auto = 1.0,
    ) -> None:
        super().__init__(k, fill, strength)
        self.area = check_range(self.name, "area", area, most=1.0)
        self.ratio = check_range(self.name, "ratio", ratio)
        self.p = check_share(self.name, "p", p)

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> EraseParams:
        area = to_range(uniform[:, 0], *self.area) * self._read_strength(samples, uniform)
        pixels = area * height * width
        ratio = to_range(uniform[:, 1], *map(math.log, self.ratio)).exp()
        tall_side = (pixels * ratio).sqrt().round().clamp(1, height)
        wide_side = (pixels / ratio).sqrt().round().clamp(1, width)
        top = (uniform[:, 2] * (height - tall_side + 1)).floor()
        left = (uniform[:, 3] * (width - wide_side + 1)).floor()
        tall_side = tall_side * (uniform[:, 4] < self.p)
        return _rectangle(top, left, tall_side, wide_side, height * width)


class SoftCutout(_Erase):
    """Erase a square of edge `length` centred anywhere in the image, clipped at its border.

    This is Cutout: near the border less than the whole square is erased, and `visible`
    counts what really was. With a `strength` below 1 the square has that share of the area, its
    edge in whole pixels, at least one.
    """

    purpose = 5
    num_uniforms = 2

    def __init__(
        self, length: int = 8, k: Power = 2.0, fill: Fill = 0, strength: float | Auto = 1.0
    ) -> None:
        super().__init__(k, fill, strength)
        self.length = check_whole(self.name, "length", length, least=1)

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> EraseParams:
        area = torch.ones_like(uniform[:, 0]) * self._read_strength(samples, uniform)
        length = (area.sqrt() * self.length).round().clamp(min=1)
        top, bottom = _side(uniform[:, 0], height, length)
        left, right = _side(uniform[:, 1], width, length)
        return _rectangle(top, left, bottom - top, right - left, height * width)


def _side(uniform: Tensor, edge: int, length: Tensor) -> tuple[Tensor, Tensor]:
    start = (uniform * edge).floor() - (length / 2).floor()
    return start.clamp(0, edge), (start + length).clamp(0, edge)


def _rectangle(
    top: Tensor, left: Tensor, height: Tensor, width: Tensor, pixels: int
) -> EraseParams:
    visible = 1 - height * width / pixels
    return EraseParams(top.long(), left.long(), height.long(), width.long(), visible)
