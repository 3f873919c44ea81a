"""FastNet: a few dense 3 x 3 convolutions behind fixed whitening filters, fast also on a CPU.

After the description of the airbench networks (Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a
single GPU", arXiv 2404.00498).
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KERNEL = 2  # edge of a whitening filter


def compute_whitening(images: Tensor, eps: float = 5e-4) -> Tensor:
    """Compute filters [4C, C, 2, 2] whose outputs on images [B, C, H, W] are uncorrelated.

    They are the principal axes of all 2 x 2 patches, scaled so that the mean square of each output
    is 1, or less where there is little to scale (`eps` is added to it).
    """
    shape = (images.shape[1], KERNEL, KERNEL)
    size = math.prod(shape)
    moments, num = torch.zeros(size, size, dtype=torch.float64), 0
    for part in torch.split(images.double(), 16):  # bounds the memory that photographs take
        patches = F.unfold(part, KERNEL).transpose(1, 2).reshape(-1, size)
        moments, num = moments + patches.T @ patches, num + len(patches)
    power, axes = torch.linalg.eigh(moments / num)
    # An axis has no sign of its own: its largest entry is made positive.
    axes = axes * axes.gather(0, axes.abs().argmax(0, keepdim=True)).sign()
    filters: Tensor = axes / (power + eps).sqrt()
    return filters.T.reshape(-1, *shape).float()


class FastBlock(nn.Sequential):
    """Convolution, max pooling, BN and GELU; convolution, BN and GELU."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(
            _convolution(inputs, width),
            nn.MaxPool2d(2),
            _batch_norm(width),
            nn.GELU(),
            _convolution(width, width),
            _batch_norm(width),
            nn.GELU(),
        )


def _convolution(inputs: int, width: int) -> nn.Conv2d:
    """Build a convolution that begins by passing its inputs on."""
    conv = nn.Conv2d(inputs, width, 3, padding=1, bias=False)
    nn.init.dirac_(conv.weight.data[:inputs])
    return conv


def _batch_norm(width: int) -> nn.BatchNorm2d:
    """Build a BN without scale."""
    norm = nn.BatchNorm2d(width)
    norm.weight.requires_grad_(False)
    return norm


class FastNet(nn.Module):
    """Fixed filters, three blocks that halve the image, its maximum, linear."""

    def __init__(self, widths: tuple[int, int, int], num_classes: int) -> None:
        super().__init__()
        num_filters = 2 * 3 * KERNEL**2
        self.whiten = nn.Conv2d(3, num_filters, KERNEL)
        self.whiten.weight.requires_grad_(False)
        inputs = (num_filters, *widths)
        self.blocks = nn.Sequential(*map(FastBlock, inputs, widths))
        self.linear = nn.Linear(widths[-1], num_classes, bias=False)

    @torch.no_grad()
    def fit_whitening(self, images: Tensor) -> None:
        """Have the first layer whiten images like these [B, 3, H, W], normalized as in training."""
        filters = compute_whitening(images)
        self.whiten.weight.copy_(torch.cat([filters, -filters]))
        self.whiten.bias.zero_()  # type: ignore[union-attr]

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits [B, classes] of images [B, 3, H, W]."""
        out = self.blocks(F.gelu(self.whiten(x)))
        logits: Tensor = self.linear(out.amax((2, 3)) / 9)  # small at first, as airbench's
        return logits


# Functions of the number of classes.
fastnet = partial(FastNet, (64, 128, 256))
fastnet_wide = partial(FastNet, (64, 256, 256))  # airbench94's
