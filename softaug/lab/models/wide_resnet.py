"""Wide residual networks (Zagoruyko and Komodakis 2016): BN-ReLU-Conv, without dropout."""

import torch.nn.functional as F
from torch import Tensor, nn

from softaug.lab.models.resnet import initialise


class WideBlock(nn.Module):
    """Two 3 x 3 convolutions, each after BN and ReLU, around which the input is carried."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        same = inputs == width and stride == 1
        self.project = None if same else nn.Conv2d(inputs, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        ready = F.relu(self.norm1(x))
        # A projection sees the normalised input, an identity the raw one.
        carried = x if self.project is None else self.project(ready)
        out = self.conv1(ready)
        out = self.conv2(F.relu(self.norm2(out)))
        summed: Tensor = carried + out
        return summed


class WideResNet(nn.Module):
    """Three stages of (depth - 4) / 6 blocks, of width 16, 32 and 64 times `widen`."""

    def __init__(self, depth: int, widen: int, num_classes: int, channels: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        features, blocks = 16, []
        for stage in range(3):
            for place in range((depth - 4) // 6):
                width = 16 * widen * 2**stage
                stride = 2 if stage > 0 and place == 0 else 1
                blocks.append(WideBlock(features, width, stride))
                features = width
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(features)
        self.linear = nn.Linear(features, num_classes)
        self.apply(initialise)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [B, classes] of images [B, channels, H, W]."""
        out = F.relu(self.norm(self.blocks(self.conv(x))))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


def wrn28_10(num_classes: int, channels: int = 3) -> WideResNet:
    """The paper's WideResNet-28-10: 36.54 M parameters at 100 classes."""
    return WideResNet(28, 10, num_classes, channels)
