"""From pixels to the numbers a network likes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Standardise(nn.Module):
    """Convert uint8 images to float32 of mean 0 and sd 1 over the images it was made for.

    >>> Standardise(mean=[100.0], sd=[50.0])(torch.full((1, 1, 1, 2), 200, dtype=torch.uint8))
    tensor([[[[2., 2.]]]])
    """

    mean: Tensor
    sd: Tensor

    def __init__(self, mean: list[float], sd: list[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("sd", torch.tensor(sd).view(-1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        return (images.float() - self.mean) / self.sd

    @classmethod
    def of(cls, images: Tensor) -> Standardise:
        """The one for these images [N, C, H, W], each channel by itself."""
        values = images.double()
        return cls(values.mean((0, 2, 3)).tolist(), values.std((0, 2, 3)).tolist())
