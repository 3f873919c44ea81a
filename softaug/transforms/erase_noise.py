"""Random erasing and Cutout, which take a rectangle of each image, and additive noise."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_positive, check_range, check_share, check_whole
from softaug.draws import to_range, to_truncated_normal
from softaug.pixels import Fill, add_normal_noise, check_fill, erase, make_fill
from softaug.transforms.base import Power, SoftTransform, Strength
from softaug.transforms.strength import SIGMA, STRENGTH, Strengths, check_strength


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

    def __init__(self, k: Power, fill: Fill, strength: Strengths) -> None:
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
        strength: Strengths = 1.0,
    ) -> None:
        super().__init__(k, fill, strength)
        self.area = check_range(self.name, "area", area, most=1.0)
        self.ratio = check_range(self.name, "ratio", ratio)
        self.p = check_share(self.name, "p", p)

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> EraseParams:
        pixels = to_range(uniform[:, 0], *self.area) * strength * height * width
        ratio = to_range(uniform[:, 1], *map(math.log, self.ratio)).exp()
        tall_side = (pixels * ratio).sqrt().round().clamp(1, height)
        wide_side = (pixels / ratio).sqrt().round().clamp(1, width)
        top = (uniform[:, 2] * (height - tall_side + 1)).floor()
        left = (uniform[:, 3] * (width - wide_side + 1)).floor()
        tall_side = tall_side * (uniform[:, 4] < self.p)
        return _make_params(top, left, tall_side, wide_side, height * width)


class SoftCutout(_Erase):
    """Erase a square of edge `length` centred anywhere in the image, clipped at its border.

    This is Cutout: near the border less than the whole square is erased, and `visible`
    counts what really was. With a `strength` below 1 the square has that share of the area, its
    edge in whole pixels, at least one.
    """

    purpose = 5
    num_uniforms = 2

    def __init__(
        self, length: int = 8, k: Power = 2.0, fill: Fill = 0, strength: Strengths = 1.0
    ) -> None:
        super().__init__(k, fill, strength)
        self.length = check_whole(self.name, "length", length, least=1)

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> EraseParams:
        area = torch.ones_like(uniform[:, 0]) * strength
        length = (area.sqrt() * self.length).round().clamp(min=1)
        top, bottom = _clip_side(uniform[:, 0], height, length)
        left, right = _clip_side(uniform[:, 1], width, length)
        return _make_params(top, left, bottom - top, right - left, height * width)


def _clip_side(uniform: Tensor, edge: int, length: Tensor) -> tuple[Tensor, Tensor]:
    start = (uniform * edge).floor() - (length / 2).floor()
    return start.clamp(0, edge), (start + length).clamp(0, edge)


def _make_params(
    top: Tensor, left: Tensor, height: Tensor, width: Tensor, pixels: int
) -> EraseParams:
    visible = 1 - height * width / pixels
    return EraseParams(top.long(), left.long(), height.long(), width.long(), visible)


class NoiseParams(NamedTuple):
    """Strength of the noise, the seed of its pixels, and the share of the image left."""

    alpha: Tensor  # [B]
    field: Tensor  # [B] int64 in 0..2^32 - 1
    visible: Tensor  # [B]


class SoftNoise(SoftTransform[NoiseParams]):
    """Add `alpha` times normal noise of sd `noise_sd`; `alpha` is normal of sd `sigma`.

    This is the paper's additive noise. It leaves units and visibility open; here noise is
    measured against the full range of an image (255 for uint8, where the result is rounded
    and clamped; 1 for floats, which are not clamped), `alpha` is truncated to (-1, 1), and
    visible = 1 - |alpha|. The paper's 0.1 and 0.1 change a pixel by 2 to 3 of 255 gray
    levels; for noise that can be seen raise `noise_sd`.
    """

    purpose = 3
    num_uniforms = 2
    paceable = SIGMA

    def __init__(self, sigma: Strengths = 0.1, noise_sd: float = 0.1, k: Power = 1.0) -> None:
        super().__init__(k)
        self.sigma = check_strength(self.name, SIGMA, sigma)
        self.noise_sd = check_positive(self.name, "noise_sd", noise_sd)

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> NoiseParams:
        alpha = to_truncated_normal(uniform[:, 0], strength, limit=1)
        return NoiseParams(alpha, (uniform[:, 1] * 2**32).long(), 1 - alpha.abs())

    def _render(self, batch: Tensor, params: NoiseParams) -> Tensor:
        return add_normal_noise(batch, self.noise_sd, params.alpha, params.field)
