"""Two random views of each image, for learning without labels: cropped, jittered, flipped."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from softaug.checks import check_images, check_not_negative, check_share, describe, refuse
from softaug.draws import DrawKey, to_range
from softaug.transforms.base import SoftTransform, Strength
from softaug.transforms.crop import FlipParams, HorizontalFlip
from softaug.transforms.operations import apply_where, check_operable
from softaug.transforms.photometric import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
)
from softaug.transforms.resized_crop import UniformResizedCrop, resize_windows
from softaug.transforms.windows import WindowParams

WHO = "TwoViews"


class JitterParams(NamedTuple):
    """What is done to each image's colors."""

    amount: Tensor  # [B, 4]: factors of brightness, contrast, saturation; turn of the hue
    order: Tensor  # [B, 4] int64: which of these is first, second, ...
    jittered: Tensor  # [B] bool: whether any of it is done
    gray: Tensor  # [B] bool: whether the image is made gray after
    visible: Tensor  # [B], all 1


ADJUST = (adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue)


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

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> JitterParams:
        ranges = [(max(0.0, 1 - x), 1 + x) for x in self._widths[:3]] + [(-self.hue, self.hue)]
        amounts = [to_range(uniform[:, i], *ends) for i, ends in enumerate(ranges)]
        order = uniform[:, 4:8].argsort(dim=1)  # every order is equally likely
        jittered, gray = uniform[:, 8] < self.p, uniform[:, 9] < self.gray_p
        visible = torch.ones_like(uniform[:, 0])
        return JitterParams(torch.stack(amounts, dim=1), order, jittered, gray, visible)

    @property
    def _widths(self) -> tuple[float, ...]:
        return self.brightness, self.contrast, self.saturation, self.hue

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


class Views(NamedTuple):
    """Two views of each image, and the box of the image that each shows."""

    first: Tensor  # [B, C, size, size]
    second: Tensor  # [B, C, size, size]
    boxes_first: Tensor  # [B, 4] int64: x1, y1, x2, y2 in pixels of the image
    boxes_second: Tensor  # [B, 4] int64


class ViewParams(NamedTuple):
    """What makes one view of each image."""

    window: WindowParams
    color: JitterParams
    flip: FlipParams


class TwoViews(nn.Module):
    """SimSiam's augmentation for CIFAR: `views(images [B, C, H, W]) -> Views`.

    Each view is a window of a random share `scale` of the area and a random `ratio` of its
    edges, resized; then, with probability `jitter_p`, brightness, contrast, saturation and hue
    within `jitter`, in random order; gray with `gray_p`; flipped with `flip_p`. All is drawn for
    each image and each view. With a key, the first view has twice the key's stream and the
    second the one after it, so that draws depend on seed, epoch, sample and view alone.

    Images are uint8, or floats in [0, 1]: put it before normalizing.

    >>> import torch
    >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    >>> views = TwoViews()(images, key=DrawKey(seed=0, epoch=0, index=torch.arange(2)))
    >>> views.first.shape, views.boxes_first.tolist()
    (torch.Size([2, 3, 32, 32]), [[2, 2, 23, 23], [3, 11, 25, 30]])
    """

    def __init__(
        self,
        size: int = 32,
        scale: tuple[float, float] = (0.2, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        jitter: Sequence[float] = (0.4, 0.4, 0.4, 0.1),
        jitter_p: float = 0.8,
        gray_p: float = 0.2,
        flip_p: float = 0.5,
    ) -> None:
        super().__init__()
        self.crop = UniformResizedCrop(size, scale, ratio)
        if not isinstance(jitter, Sequence) or isinstance(jitter, str) or len(jitter) != 4:
            rule = "jitter must be four numbers: brightness, contrast, saturation, hue"
            refuse(WHO, rule, describe(jitter))
        brightness, contrast, saturation, hue = jitter
        self.color = ColorJitter(brightness, contrast, saturation, hue, jitter_p, gray_p)
        self.flip = HorizontalFlip(flip_p)

    def forward(
        self, images: Tensor, *, generator: Generator | None = None, key: DrawKey | None = None
    ) -> Views:
        """Draw and render both views."""
        first, second = (self.draw(images, view, generator=generator, key=key) for view in (0, 1))
        rendered = self.render(images, first), self.render(images, second)
        return Views(*rendered, first.window.boxes, second.window.boxes)

    def draw(
        self,
        images: Tensor,
        view: int,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> ViewParams:
        """Draw what makes view 0 or 1 of each image; reads only the shape."""
        _check_batch(images)
        if isinstance(key, DrawKey):
            key = make_view_key(key, view)
        return ViewParams(
            self.crop.draw(images, generator=generator, key=key),
            self.color.draw(images, generator=generator, key=key),
            self.flip.draw(images, generator=generator, key=key),
        )

    def render(self, images: Tensor, params: ViewParams) -> Tensor:
        """Render one view of each image, [B, C, size, size]; no randomness."""
        _check_batch(images)
        view = resize_windows(images, params.window, self.crop.size)  # never leaves the image
        return self.flip.apply(self.color.apply(view, params.color), params.flip)

    def finish(self, windows: Tensor, view: int, key: DrawKey) -> Tensor:
        """View 0 or 1 of images whose windows [B, C, size, size] are cut out already.

        The windows must be drawn by `crop` with the key that `make_view_key` gives.
        """
        own = make_view_key(key, view)
        colored = self.color.apply(windows, self.color.draw(windows, key=own))
        return self.flip.apply(colored, self.flip.draw(windows, key=own))


def make_view_key(key: DrawKey, view: int) -> DrawKey:
    """Make the key of view 0 or 1: each has a stream of its own."""
    if view not in (0, 1):
        refuse(WHO, "view must be 0 or 1", describe(view))
    return key._replace(stream=2 * key.stream + view)


def _check_batch(images: Any) -> None:
    check_images(WHO, images)
    if images.ndim != 4:
        refuse(WHO, "images must be [B, C, H, W]", describe(images), "use image.unsqueeze(0)")
