"""Windows on images: cut out, filled where they leave the image, resized to one size."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from softaug.checks import check_choice, check_switch, check_whole, describe, refuse
from softaug.draws import DrawKey
from softaug.label import SoftLabel
from softaug.pixels import Fill, check_fill, make_fill
from softaug.transforms.base import Labels, Power, SoftTransform, Strength, check_sample

# torchvision, and Pillow by it, are imported where a window needs them: they would take half of
# the time of `import softaug`.

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
        *others: Any,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> tuple[Any, SoftLabel]:
        """Draw, apply and report in one go, on tensors or on one PIL image."""
        images, labels = check_sample(self.name, images, labels, *others)
        if not isinstance(images, Tensor):
            from PIL.Image import Image
            from torchvision.transforms.functional import pil_to_tensor, to_pil_image

            if isinstance(images, Image):
                if images.mode not in ("L", "RGB"):
                    rule, remedy = "a PIL image must be RGB or L", 'use image.convert("RGB")'
                    refuse(self.name, rule, images.mode, remedy)
                pixels = pil_to_tensor(images)
                window, label = super().forward(pixels, labels, generator=generator, key=key)
                return to_pil_image(window), label  # type: ignore[no-untyped-call]
        return super().forward(images, labels, generator=generator, key=key)

    @abstractmethod
    def _windows(
        self, uniform: Tensor, height: Tensor, width: Tensor, strength: Strength
    ) -> tuple[Tensor, ...]:
        """Return left, top, width and height of a window on each image, all [B] int64.

        Some of the image is in every window.
        """

    def draw_for(
        self, height: Tensor, width: Tensor, key: DrawKey, labels: Tensor | None = None
    ) -> WindowParams:
        """Draw windows for images of these sizes, [B] each, before any of them is decoded.

        The same as `draw` gives for each image; `labels` are needed where it needs them.
        """
        for edge in (height, width):
            if (
                not isinstance(edge, Tensor)
                or edge.dtype != torch.int64
                or edge.shape != (len(height),)
            ):
                rule = "height and width must be [B] int64, one for each image"
                refuse(self.name, rule, describe(edge))
        no_pixels = torch.empty(1, 1, 1, 1).expand(len(height), -1, -1, -1)
        uniform, strength = self._draw_numbers(no_pixels, labels, None, key)
        return self._draw(uniform, height, width, strength)

    def _draw(
        self, uniform: Tensor, height: Length, width: Length, strength: Strength
    ) -> WindowParams:
        if not isinstance(height, Tensor):  # one size for all images
            height = torch.full_like(uniform[:, 0], height, dtype=torch.int64)
        if not isinstance(width, Tensor):
            width = torch.full_like(uniform[:, 0], width, dtype=torch.int64)
        left, top, across, down = self._windows(uniform, height, width, strength)
        seen = _overlap(left, across, width) * _overlap(top, down, height)
        whole = height * width if self.share_of == "image" else across * down
        return WindowParams(left, top, across, down, seen.to(uniform.dtype) / whole)

    def _render(self, batch: Tensor, params: WindowParams) -> Tensor:
        if torch.compiler.is_compiling():
            given: Any = self.fill if isinstance(self.fill, tuple) else (self.fill,)
            fill = [] if self.fill == "mean" else [float(value) for value in given]
            cut: Tensor = _cut_compiled(batch, params.boxes, self.size, fill, self.antialias)
            return cut
        return cut_windows(self.name, batch, params.boxes, self.size, self.fill, self.antialias)

    def resize(
        self, part: Tensor, corners: list[int], offset: tuple[int, int], out: Tensor
    ) -> None:
        """Put the window with these corners, of which `part` [C, h, w] is visible, into `out`.

        `offset` is where the part begins in the image (x, y); `out` is [C, size, size].
        """
        resize_window(self.name, part, corners, offset, out, self.fill, self.antialias)


def visible_part(corners: list[int], height: int, width: int) -> tuple[int, int, int, int]:
    """Return the corners of the part of an image inside a window; where they meet, it is empty.

    >>> visible_part([-10, 5, 20, 30], height=24, width=32)
    (0, 5, 20, 24)
    """
    left, right = (min(max(x, 0), width) for x in corners[::2])
    top, bottom = (min(max(y, 0), height) for y in corners[1::2])
    return left, top, right, bottom


def cut_windows(
    who: str, images: Tensor, boxes: Tensor, size: int, fill: Fill, antialias: bool
) -> Tensor:
    """Cut the box [B, 4] of each image [B, C, H, W] and resize it to [B, C, size, size]."""
    windows = images.new_empty(*images.shape[:2], size, size)
    for row, corners in enumerate(boxes.tolist()):
        left, top, right, bottom = visible_part(corners, *images.shape[-2:])
        part = images[row, :, top:bottom, left:right]
        resize_window(who, part, corners, (left, top), windows[row], fill, antialias)
    return windows


# One operator to the compiler: else it would compile anew for every size of a window.
@torch.library.custom_op("softaug::cut_windows", mutates_args=())
def _cut_compiled(
    images: Tensor, boxes: Tensor, size: int, fill: Sequence[float], antialias: bool
) -> Tensor:
    values: Fill = tuple(fill) if fill else "mean"
    return cut_windows("cut_windows", images, boxes, size, values, antialias)


@_cut_compiled.register_fake
def _(images: Tensor, boxes: Tensor, size: int, fill: Sequence[float], antialias: bool) -> Tensor:
    return images.new_empty(*images.shape[:2], size, size)


def resize_window(
    who: str,
    part: Tensor,
    corners: list[int],
    offset: tuple[int, int],
    out: Tensor,
    fill: Fill,
    antialias: bool,
) -> None:
    """Put the window with these corners, of which `part` [C, h, w] is visible, into `out`.

    A window inside the image is torchvision's `resized_crop`. Of another only the visible part
    is resized, to whole pixels: its edges are as sharp as they were, off by less than a pixel.
    """
    size = out.shape[-1]
    left, top, right, bottom = corners
    across = find_resize_slices(offset[0] - left, part.shape[2], right - left, size)
    down = find_resize_slices(offset[1] - top, part.shape[1], bottom - top, size)
    edges = [down.length, across.length]
    if edges != [size, size]:
        row = make_fill(who, fill, part.unsqueeze(0))[0].expand(len(part), 1, size)
        out.permute(1, 2, 0)[:] = row[:, 0].T.contiguous()  # pixel by pixel takes 5 x as long
    if part.numel():  # else the window shows nothing of the image
        from torchvision.transforms.v2.functional import resize  # type: ignore[attr-defined]

        visible = part[:, down.src, across.src]
        out[:, down.dst, across.dst] = resize(visible, edges, antialias=antialias)


class ResizeSlices(NamedTuple):
    """Slices along one edge: of the visible part, and of the resized window."""

    src: slice  # of the part's pixels
    dst: slice  # of the resized window's

    @property
    def length(self) -> int:
        """Pixels of the resized window."""
        return int(self.dst.stop - self.dst.start)


def find_resize_slices(start: int, length: int, edge: int, size: int) -> ResizeSlices:
    """Return the slices of a part that fills start..start + length of a window's edge.

    The edge is resized to `size` pixels. Those that the part fills wholly are resized
    from the pixels nearest to their position; a part that fills none fills one pixel.

    >>> find_resize_slices(start=0, length=300, edge=300, size=100)  # all of it
    ResizeSlices(src=slice(0, 300, None), dst=slice(0, 100, None))
    >>> find_resize_slices(start=100, length=200, edge=300, size=100)  # 100..300 are 33.3..100
    ResizeSlices(src=slice(2, 200, None), dst=slice(34, 100, None))
    """
    first, last = -(-start * size // edge), (start + length) * size // edge
    if first >= last:
        first = min(start * size // edge, size - 1)
        return ResizeSlices(slice(0, length), slice(first, first + 1))
    begin, end = (_nearest(pixel * edge / size, start, length) for pixel in (first, last))
    if begin == end:  # enlarged so much that all of it comes from one pixel of the part
        begin, end = 0, length
    return ResizeSlices(slice(begin, end), slice(first, last))


def _nearest(position: float, start: int, length: int) -> int:
    """Return the edge of the part's pixels that is nearest to `position`."""
    return min(max(math.floor(position + 0.5) - start, 0), length)


def _overlap(start: Tensor, length: Tensor, edge: Tensor) -> Tensor:
    """Count the pixels of start..start + length that are in 0..edge."""
    return torch.minimum(start + length, edge) - start.clamp(min=0)
