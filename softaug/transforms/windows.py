"""Windows on images: cut out, filled where they leave the image, resized to one size."""

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from PIL import Image
from torch import Generator, Tensor
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2.functional import (  # type: ignore[attr-defined]
    pil_to_tensor,
    resize,
    to_pil_image,
)

from softaug.checks import check_choice, check_switch, check_whole, describe, refuse
from softaug.draws import DrawKey, uniforms
from softaug.label import SoftLabel
from softaug.transforms.base import Labels, Power, SoftTransform, check_pair
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
    Images may be PIL's too, one at a time; then so is what comes out.
    """

    def __init__(self, size: int, k: Power, fill: Fill, antialias: bool, share_of: str) -> None:
        super().__init__(k)
        self.size = check_whole(self.name, "size", size, least=1)
        self.fill = check_fill(self.name, fill)
        check_switch(self.name, "antialias", antialias)
        self.antialias = antialias
        check_choice(self.name, "share_of", share_of, SHARES)
        self.share_of = share_of

    def forward(
        self,
        images: Any,
        labels: Labels | None = None,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> tuple[Any, SoftLabel]:
        """Draw, apply and report in one go, on tensors or on one PIL image."""
        if labels is None:
            images, labels = check_pair(self.name, images)
        if not isinstance(images, Image.Image):
            return super().forward(images, labels, generator=generator, key=key)
        pixels = _pixels(self.name, images)
        window, label = super().forward(pixels, labels, generator=generator, key=key)
        return to_pil_image(window), label  # type: ignore[no-untyped-call]

    @abstractmethod
    def _windows(self, uniform: Tensor, height: Tensor, width: Tensor) -> tuple[Tensor, ...]:
        """Left, top, width and height of a window on each image, all [B] int64.

        Some of the image is in every window.
        """

    def draw_for(self, height: Tensor, width: Tensor, key: DrawKey) -> WindowParams:
        """Windows for images of these sizes, [B] each, before any of them is decoded.

        The same as `draw` gives for each image.
        """
        _check_edges(self.name, height, width)
        no_pixels = torch.empty(1, 1, 1, 1).expand(len(height), -1, -1, -1)
        uniform = uniforms(self.name, no_pixels, self.num_uniforms, self.purpose, None, key)
        return self._draw(uniform, height, width)

    def _draw(self, uniform: Tensor, height: Length, width: Length) -> WindowParams:
        height, width = _each(height, uniform), _each(width, uniform)
        left, top, across, down = self._windows(uniform, height, width)
        seen = _overlap(left, across, width) * _overlap(top, down, height)
        whole = height * width if self.share_of == "image" else across * down
        return WindowParams(left, top, across, down, seen.to(uniform.dtype) / whole)

    # Compiled, every size of a window would be compiled anew: seconds a call.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
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
        if part.shape[-2:] != (bottom - top, right - left):
            part = self._framed(part, corners, place)
        edges = [self.size, self.size]
        resized: Tensor = resize(part, edges, InterpolationMode.BILINEAR, antialias=self.antialias)
        return resized

    def _framed(self, part: Tensor, corners: list[int], place: tuple[int, int]) -> Tensor:
        """The part in a window of fill, its colours side by side in memory: resized faster."""
        left, top, right, bottom = corners
        window = part.new_empty(bottom - top, right - left, len(part))
        fill = fill_values(self.name, self.fill, part.unsqueeze(0))[0]  # [C or 1, 1, 1]
        row = fill.permute(1, 2, 0)[0].expand(right - left, len(part)).contiguous()
        _frame(window, part.permute(1, 2, 0), (place[0] - left, place[1] - top), row)
        return window.permute(2, 0, 1)


def _frame(window: Tensor, part: Tensor, place: tuple[int, int], row: Tensor) -> None:
    """Write `part` [h, w, C] into `window` [H, W, C] at (x, y), and `row` [W, C] around it.

    Whole rows are written: to fill all pixels alike is 20 x slower.
    """
    height, width = window.shape[:2]
    left, right = (min(max(x, 0), width) for x in (place[0], place[0] + part.shape[1]))
    top, bottom = (min(max(y, 0), height) for y in (place[1], place[1] + part.shape[0]))
    window[:top], window[bottom:] = row, row
    window[top:bottom, :left], window[top:bottom, right:] = row[:left], row[right:]
    if left < right and top < bottom:  # else the window shows nothing of the image
        window[top:bottom, left:right] = part


def visible_part(corners: list[int], height: int, width: int) -> tuple[int, int, int, int]:
    """The corners of what a window shows of an image; where they meet, that is nothing.

    >>> visible_part([-10, 5, 20, 30], height=24, width=32)
    (0, 5, 20, 24)
    """
    left, right = (min(max(x, 0), width) for x in corners[::2])
    top, bottom = (min(max(y, 0), height) for y in corners[1::2])
    return left, top, right, bottom


def _pixels(who: str, image: Image.Image) -> Tensor:
    """The image's grey levels, uint8 [1 or 3, H, W]."""
    if image.mode not in ("L", "RGB"):
        refuse(who, "a PIL image must be RGB or L", image.mode, 'use image.convert("RGB")')
    pixels: Tensor = pil_to_tensor(image)
    return pixels


def _check_edges(who: str, height: Any, width: Any) -> None:
    for edge in (height, width):
        good = isinstance(edge, Tensor) and edge.dtype == torch.int64 and edge.ndim == 1
        if not good or len(edge) != len(height):
            refuse(who, "height and width must be [B] int64, one for each image", describe(edge))


def _each(length: Length, uniform: Tensor) -> Tensor:
    """An edge of each image, [B] int64."""
    if isinstance(length, Tensor):
        return length
    return torch.full_like(uniform[:, 0], length, dtype=torch.int64)


def _overlap(start: Tensor, length: Tensor, edge: Tensor) -> Tensor:
    """Pixels of start..start + length that are in 0..edge."""
    return torch.minimum(start + length, edge) - start.clamp(min=0)
