"""The batch that the image suites work on, and the cost that they are measured in."""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

MEAN = (0.4914, 0.4822, 0.4465)
STD = (0.2470, 0.2435, 0.2616)
CONVERT = "convert and normalise alone"

# Its names are re-exported in a way that mypy does not accept.
v2: Any = import_module("torchvision.transforms.v2")

_OFFSET = 255 * torch.tensor(MEAN).view(3, 1, 1)
_SCALE = 1 / (255 * torch.tensor(STD).view(3, 1, 1))


def make_images(batch: int, edge: int = 32) -> tuple[Tensor, Tensor]:
    """uint8 noise [B, 3, edge, edge] and ten classes [B], always the same."""
    generator = torch.Generator().manual_seed(0)
    shape = (batch, 3, edge, edge)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    return images, torch.randint(0, 10, (batch,), generator=generator)


def normalise(images: Tensor) -> Tensor:
    """uint8 to float32 of mean 0 and sd 1: three passes, as cheap as eager torch has it."""
    return images.float().sub_(_OFFSET).mul_(_SCALE)
