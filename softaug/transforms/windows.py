"""Windows on images: cut out, filled where they leave the image, resized to one size."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2.functional import resize  # type: ignore[attr-defined]

from softaug.checks import check_choice, check_whole
from softaug.draws import DrawKey, uniforms
from softaug.transforms.base import Power, SoftTransform
from softaug.transforms.fill import Fill, check_fill, fill_values

Length = int | Tensor  # of an edge in pixels: one for all images, or one each [B]
SHARES = ("image", "window")


class WindowParams(NamedTuple):
    """Windows in pixels of their images, and the share of each that is visible."""

    left: Tensor  # [B] int64, < 0 where the window begins left of the image
    top: Tensor  # [B] int64
    width: Tensor  # [B] int64
    height: Tensor  # [B] int64
    visible: Tensor  # [B]

    @property
    def boxes(self) -> Tensor:
        """Corners x1, y1, x2, y2, [B, 4], as two-view learning compares them."""
        right, bottom = self.left + self.width, self.top + self.height
        return torch.stack([self.left, self.top, right, bottom], dim=1)


class WindowCrop(SoftTransform[WindowParams]):
    """A crop-and-resize whose windows a subclass draws.

    `visible` is the share of the image's area that is in the window ("image"), or the share of
    the window's area that shows image ("window"). `fill` "mean" is that of what is visible.
    """

    def __init__(self, size: int, k: Power, fill: Fill, antialias: bool, share_of: str) -> None:
        super().__init__(k)
        self.size = check_whole(self.name, "size", size, least=1)
        self.fill = check_fill(self.name, fill)
        self.antialias = antialias
        check_choice(self.name, "share_of", share_of, SHARES)
        self.share_of = share_of

    @abstractmethod
    def _windows(self, uniform: Tensor, height: Tensor, width: Tensor) -> tuple[Tensor, ...]:
        """Left, top, width and height of a window on each image, all [B] int64.

        Some of the image is in every window.
        """

    def draw_for(self, height: Tensor, width: Tensor, key: DrawKey) -> WindowParams:
        """Windows for images of these sizes, [B] each, before any of them is decoded.

        The same as `draw` gives for each image.
        """
        no_pixels = torch.empty(1, 1, 1, 1).expand(len(height), -1, -1, -1)
        uniform = uniforms(self.name, no_pixels, self.num_uniforms, self.purpose, None, key)
        return self._draw(uniform, height, width)

    def _draw(self, uniform: Tensor, height: Length, width: Length) -> WindowParams:
        height, width = _each(height, uniform), _each(width, uniform)
        left, top, across, down = self._windows(uniform, height, width)
        seen = _overlap(left, across, width) * _overlap(top, down, height)
        whole = height * width if self.share_of == "image" else across * down
        return WindowParams(left, top, across, down, seen.to(uniform.dtype) / whole)

    def _render(self, batch: Tensor, params: WindowParams) -> Tensor:
        corners = params.boxes.tolist()
        return torch.stack([self._one(*pair) for pair in zip(batch, corners, strict=True)])

    def _one(self, image: Tensor, corners: list[int]) -> Tensor:
        left, top, right, bottom = visible_part(corners, *image.shape[-2:])
        return self.resize(image[:, top:bottom, left:right], corners, (left, top))

    def resize(self, part: Tensor, corners: list[int], place: tuple[int, int]) -> Tensor:
        """The window with these corners, [C, size, size], of which `part` [C, h, w] is visible.

        `place` is where the part begins in the image (x, y). What one gets is torchvision's
        `resized_crop`, to the grey level, but for the fill.
        """
        left, top, right, bottom = corners
        across, down = right - left, bottom - top
        if part.shape[-2:] != (down, across):
            window = self._empty(part, down, across)
            x, y = place[0] - left, place[1] - top
            window[:, y : y + part.shape[1], x : x + part.shape[2]] = part
            part = window
        edges = [self.size, self.size]
        resized: Tensor = resize(part, edges, InterpolationMode.BILINEAR, antialias=self.antialias)
        return resized

    def _empty(self, part: Tensor, height: int, width: int) -> Tensor:
        """A window of nothing but fill, its colours side by side in memory: resized faster."""
        fill = fill_values(self.name, self.fill, part.unsqueeze(0))[0]  # [C or 1, 1, 1]
        # Row by row: filling all pixels of a window at once is 20 x slower for three colours.
        row = fill.permute(1, 2, 0).expand(1, width, len(part)).contiguous()
        return row.expand(height, width, len(part)).contiguous().permute(2, 0, 1)


def visible_part(corners: list[int], height: int, width: int) -> tuple[int, int, int, int]:
    """The corners of what a window shows of an image.

    >>> visible_part([-10, 5, 20, 30], height=24, width=32)
    (0, 5, 20, 24)
    """
    left, top, right, bottom = corners
    return max(left, 0), max(top, 0), min(right, width), min(bottom, height)


def _each(length: Length, uniform: Tensor) -> Tensor:
    """An edge of each image, [B] int64."""
    if isinstance(length, Tensor):
        return length
    return torch.full_like(uniform[:, 0], length, dtype=torch.int64)


def _overlap(start: Tensor, length: Tensor, edge: Tensor) -> Tensor:
    """Pixels of start..start + length that are in 0..edge."""
    return torch.minimum(start + length, edge) - start.clamp(min=0)
