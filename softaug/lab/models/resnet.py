"""Residual networks for small images (He et al. 2016): Conv-BN-ReLU, 3 x 3 stem."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn


def initialise(module: nn.Module) -> None:
    """He's normal initialisation for convolutions; all else begins as torch has it."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


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


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions; the last makes four times the width."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outputs)
        self.shortcut = _shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.norm1(self.conv1(x)))
        out = F.relu(self.norm2(self.conv2(out)))
        out = self.norm3(self.conv3(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    """A stem, stages of blocks (each after the first halves the image), mean, linear.

    `depths` is the number of blocks and `widths` the width of each stage.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        depths: Sequence[int],
        widths: Sequence[int],
        num_classes: int,
        channels: int = 3,
        stem_stride: int = 1,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, widths[0], 3, stem_stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        features, blocks = widths[0], []
        for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            for place in range(depth):
                stride = 2 if stage > 0 and place == 0 else 1
                blocks.append(block(features, width, stride))
                features = width * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(features, num_classes)
        self.apply(initialise)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [B, classes] of images [B, channels, H, W]."""
        out = self.blocks(F.relu(self.norm(self.conv(x))))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


def resnet8(num_classes: int, channels: int = 3, width: int = 16) -> ResNet:
    """Three stages of one basic block; 78 thousand parameters at width 16."""
    return ResNet(BasicBlock, (1, 1, 1), (width, 2 * width, 4 * width), num_classes, channels)


def resnet8_s2(num_classes: int, channels: int = 3, width: int = 32) -> ResNet:
    """ResNet-8 whose stem halves the image: for experiments on a CPU."""
    widths = (width, 2 * width, 4 * width)
    return ResNet(BasicBlock, (1, 1, 1), widths, num_classes, channels, stem_stride=2)


def resnet20(num_classes: int, channels: int = 3, width: int = 16) -> ResNet:
    """Three stages of three basic blocks."""
    return ResNet(BasicBlock, (3, 3, 3), (width, 2 * width, 4 * width), num_classes, channels)


def resnet18(num_classes: int, channels: int = 3) -> ResNet:
    """ResNet-18 with a 3 x 3 stem: 11.22 M parameters at 100 classes."""
    return ResNet(BasicBlock, (2, 2, 2, 2), (64, 128, 256, 512), num_classes, channels)


def resnet50(num_classes: int, channels: int = 3) -> ResNet:
    """ResNet-50 with a 3 x 3 stem: 23.71 M parameters at 100 classes."""
    return ResNet(Bottleneck, (3, 4, 6, 3), (64, 128, 256, 512), num_classes, channels)


def resnet101(num_classes: int, channels: int = 3) -> ResNet:
    """ResNet-101 with a 3 x 3 stem: 42.70 M parameters at 100 classes."""
    return ResNet(Bottleneck, (3, 4, 23, 3), (64, 128, 256, 512), num_classes, channels)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The input itself, or where its shape does not fit the sum, a 1 x 1 projection of it."""
    if inputs == outputs and stride == 1:
        return nn.Identity()
    projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(projection, nn.BatchNorm2d(outputs))
