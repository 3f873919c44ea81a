"""Crops of the image's own size, shifted so that part of the image leaves the frame; and flips."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from softaug.checks import check_share, check_whole, describe, refuse
from softaug.draws import DrawKey, to_truncated_normal
from softaug.pixels import Fill, check_fill, make_fill, shift
from softaug.transforms.base import Labels, Power, SoftTransform, Strength
from softaug.transforms.strength import SIGMA, Strengths, check_strength


class CropParams(NamedTuple):
    """Offsets of the window against the image, in pixels, and the share left in frame."""

    dx: Tensor  # [B] int64, > 0 moves the window right
    dy: Tensor  # [B] int64, > 0 moves the window down
    visible: Tensor  # [B]


class _ShiftedCrop(SoftTransform[CropParams]):
    """A crop whose offsets a subclass draws for each axis."""

    num_uniforms = 2

    def __init__(self, k: Power, fill: Fill) -> None:
        super().__init__(k)
        self.fill = check_fill(self.name, fill)

    @abstractmethod
    def _offset(self, uniform: Tensor, edge: int, longer: int, strength: Strength) -> Tensor:
        """Draw whole offsets [B] along an `edge` of images, of which none is above `longer`."""

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> CropParams:
        longer = max(height, width)
        dx = self._offset(uniform[:, 0], width, longer, strength)
        dy = self._offset(uniform[:, 1], height, longer, strength)
        left = (width - dx.abs()) * (height - dy.abs())
        return CropParams(dx, dy, left.to(uniform.dtype) / (height * width))

    def _render(self, batch: Tensor, params: CropParams) -> Tensor:
        return shift(batch, params.dx, params.dy, make_fill(self.name, self.fill, batch))


class SoftCrop(_ShiftedCrop):
    """Shift each image by normal offsets of sd `sigma` times its longer edge.

    Offsets are truncated so that some of the image stays, and to whole pixels toward zero
    (the paper's CIFAR crop). What leaves the frame is lost, what enters it is `fill`: a
    number, one per channel, or "mean" (each image's own channel means). `sigma` may be one for
    each class, [C], or a function of index and label (Eq. 11); a law that draws one for each
    image (`Uniform(0.3)`, `Mixture(0.05, 0.3)`); or "auto", which a `Pacer` sets while training
    goes on.

    >>> import torch
    >>> from softaug import DrawKey
    >>> image = torch.ones(3, 32, 32)
    >>> _, label = SoftCrop(sigma=0.3, k=2)(image, 7, key=DrawKey(seed=0, epoch=0, index=5))
    >>> label.label, round(label.retained, 4)
    (7, 0.9209)
    """

    purpose = 1
    paceable = SIGMA

    def __init__(self, sigma: Strengths = 0.3, k: Power = 2.0, fill: Fill = 0) -> None:
        super().__init__(k, fill)
        self.sigma = check_strength(self.name, SIGMA, sigma)

    def _offset(self, uniform: Tensor, edge: int, longer: int, strength: Strength) -> Tensor:
        return to_truncated_normal(uniform, strength * longer, limit=edge).trunc().long()


class UniformCrop(_ShiftedCrop):
    """Shift each image by whole pixels, uniform in -max_shift..max_shift: the usual hard crop.

    It reports what is left like `SoftCrop`, so that an ablation changes one thing; for the
    hard baseline use `SoftLoss(soften="none")`, or `k=math.inf`.
    """

    purpose = 2

    def __init__(self, max_shift: int = 4, k: Power = 2.0, fill: Fill = 0) -> None:
        super().__init__(k, fill)
        self.max_shift = check_whole(self.name, "max_shift", max_shift, least=0)

    def _offset(self, uniform: Tensor, edge: int, longer: int, strength: Strength) -> Tensor:
        if self.max_shift >= edge:
            remedy = "a larger shift would leave nothing of the image"
            refuse(
                self.name,
                f"max_shift must be below the image's edge {edge}",
                self.max_shift,
                remedy,
            )
        return (uniform * (2 * self.max_shift + 1)).floor().long() - self.max_shift


class FlipParams(NamedTuple):
    """Whether each image is flipped."""

    flipped: Tensor  # [B] bool
    visible: Tensor  # [B], all 1


class HorizontalFlip(SoftTransform[FlipParams]):
    """Flip each image with probability `p`; labels stay as they come.

    With `alternate` that holds for even epochs; in odd ones the other images are flipped, so that
    two epochs show every image both ways (Jordan 2024). It needs a key, which knows the epoch.

    >>> from softaug import DrawKey
    >>> image = torch.tensor([[[1, 2]]], dtype=torch.uint8)
    >>> HorizontalFlip(p=1.0)(image, 7, key=DrawKey(0, 0, 0))
    (tensor([[[2, 1]]], dtype=torch.uint8), SoftLabel(label=7, retained=1.0))
    """

    purpose = 6
    num_uniforms = 1

    def __init__(self, p: float = 0.5, alternate: bool = False) -> None:
        super().__init__(k=1.0)
        self.p, self.alternate = check_share(self.name, "p", p), alternate

    def draw(
        self,
        images: Tensor,
        *,
        labels: Labels | None = None,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> FlipParams:
        if not self.alternate:
            return super().draw(images, labels=labels, generator=generator, key=key)
        if not isinstance(key, DrawKey):
            refuse(self.name, "alternate needs a DrawKey, which knows the epoch", describe(key))
        first = super().draw(images, generator=generator, key=key._replace(epoch=0))
        return first._replace(flipped=first.flipped ^ bool(key.epoch % 2))

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> FlipParams:
        return FlipParams(uniform[:, 0] < self.p, torch.ones_like(uniform[:, 0]))

    def _render(self, batch: Tensor, params: FlipParams) -> Tensor:
        return torch.where(params.flipped.view(-1, 1, 1, 1), batch.flip(-1), batch)
