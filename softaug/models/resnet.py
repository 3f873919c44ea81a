"""Residual networks for small images (He et al. 2016): Conv-BN-ReLU, 3 x 3 stem."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions around which the input is carried, and ReLU after the sum."""

    expansion = 1  # output channels / width

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = _shortcut(inputs, width * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    """A stem, stages of blocks (each after the first halves the image), mean, linear.

    `depths` is the number of blocks and `widths` the width of each stage.
    """

    def __init__(
        self,
        block: type[BasicBlock],
        depths: Sequence[int],
        widths: Sequence[int],
        num_classes: int,
        channels: int = 3,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, widths[0], 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        features, blocks = widths[0], []
        for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            for place in range(depth):
                stride = 2 if stage > 0 and place == 0 else 1
                blocks.append(block(features, width, stride))
                features = width * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(features, num_classes)
        self.apply(_initialise)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [B, classes] of images [B, channels, H, W]."""
        out = self.blocks(F.relu(self.norm(self.conv(x))))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


def resnet8(num_classes: int, channels: int = 3, width: int = 16) -> ResNet:
    """Three stages of one basic block; 78 thousand parameters at width 16."""
    return ResNet(BasicBlock, (1, 1, 1), (width, 2 * width, 4 * width), num_classes, channels)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The input itself, or where its shape does not fit the sum, a 1 x 1 projection of it."""
    if inputs == outputs and stride == 1:
        return nn.Identity()
    projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(projection, nn.BatchNorm2d(outputs))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
