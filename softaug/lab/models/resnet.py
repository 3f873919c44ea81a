"""Residual networks for small images: ResNet (He et al. 2016) with a 3 x 3 stem, and WideResNet."""

from collections.abc import Sequence
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from softaug.lab.models.backbone import initialize


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a skip connection, and ReLU after the sum."""

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


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Return the identity, or a 1 x 1 projection where the shape changes."""
    if inputs == outputs and stride == 1:
        return nn.Identity()
    projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(projection, nn.BatchNorm2d(outputs))


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
        stem_stride: int = 1,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, widths[0], 3, stem_stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        features, blocks = widths[0], []
        for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            for index in range(depth):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(block(features, width, stride))
                features = width * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(features, num_classes)
        self.apply(initialize)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits [B, classes] of images [B, 3, H, W]."""
        out = self.blocks(F.relu(self.norm(self.conv(x))))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


# Functions of the number of classes.
resnet8 = partial(ResNet, BasicBlock, (1, 1, 1), (16, 32, 64))
# The stem halves the image: for experiments on a CPU, and to learn 2,000 images in a minute.
resnet8_s2 = partial(ResNet, BasicBlock, (1, 1, 1), (32, 64, 128), stem_stride=2)
resnet8_tiny = partial(ResNet, BasicBlock, (1, 1, 1), (16, 32, 64), stem_stride=2)
resnet20 = partial(ResNet, BasicBlock, (3, 3, 3), (16, 32, 64))
# 11.22, 23.71 and 42.70 M parameters at 100 classes.
resnet18 = partial(ResNet, BasicBlock, (2, 2, 2, 2), (64, 128, 256, 512))
resnet50 = partial(ResNet, Bottleneck, (3, 4, 6, 3), (64, 128, 256, 512))
resnet101 = partial(ResNet, Bottleneck, (3, 4, 23, 3), (64, 128, 256, 512))


class WideBlock(nn.Module):
    """Two 3 x 3 convolutions, each after BN and ReLU, with a skip connection."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        same = inputs == width and stride == 1
        self.project = None if same else nn.Conv2d(inputs, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        activated = F.relu(self.norm1(x))
        # A projection sees the normalized input, an identity the raw one.
        shortcut = x if self.project is None else self.project(activated)
        out = self.conv1(activated)
        out = self.conv2(F.relu(self.norm2(out)))
        summed: Tensor = shortcut + out
        return summed


class WideResNet(nn.Module):
    """Three stages of (depth - 4) / 6 blocks, of width 16, 32 and 64 times `widen`.

    WideResNet (Zagoruyko and Komodakis 2016): BN-ReLU-Conv, without dropout.
    """

    def __init__(self, depth: int, widen: int, num_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        features, blocks = 16, []
        for stage in range(3):
            for index in range((depth - 4) // 6):
                width = 16 * widen * 2**stage
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(WideBlock(features, width, stride))
                features = width
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(features)
        self.linear = nn.Linear(features, num_classes)
        self.apply(initialize)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits [B, classes] of images [B, 3, H, W]."""
        out = F.relu(self.norm(self.blocks(self.conv(x))))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


wrn28_10 = partial(WideResNet, 28, 10)  # the paper's: 36.54 M parameters at 100 classes
