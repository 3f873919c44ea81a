"""Swapping left and right, which destroys nothing."""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_share
from softaug.transforms.base import SoftTransform
from softaug.transforms.strength import Samples


class FlipParams(NamedTuple):
    """Whether each image is flipped."""

    flipped: Tensor  # [B] bool
    visible: Tensor  # [B], all 1


class HorizontalFlip(SoftTransform[FlipParams]):
    """Flip each image with probability `p`; labels stay as they come.

    >>> from softaug import DrawKey
    >>> image = torch.tensor([[[1, 2]]], dtype=torch.uint8)
    >>> HorizontalFlip(p=1.0)(image, 7, key=DrawKey(0, 0, 0))
    (tensor([[[2, 1]]], dtype=torch.uint8), SoftLabel(label=7, retained=1.0))
    """

    purpose = 6
    num_uniforms = 1

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(k=1.0)
        self.p = check_share(self.name, "p", p)

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> FlipParams:
        flipped = uniform[:, 0] < self.p
        return FlipParams(flipped, torch.ones_like(uniform[:, 0]))

    def _render(self, batch: Tensor, params: FlipParams) -> Tensor:
        return torch.where(params.flipped.view(-1, 1, 1, 1), batch.flip(-1), batch)
