"""PyramidNet (Han et al. 2017): every block is a little wider than the one before."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.lab.models.backbone import initialize


class ShakeDrop(nn.Module):
    """Keep a branch whole with probability `keep`, else scale it by a random factor.

    The factor is uniform in (-1, 1) for the values and, independently, uniform in (0, 1) for the
    gradients, one for each sample; whether to keep is one draw for the batch. In evaluation the
    branch is scaled by the expected factor, which is `keep`.
    """

    def __init__(self, keep: float) -> None:
        super().__init__()
        self.keep = keep

    def forward(self, branch: Tensor) -> Tensor:
        if not self.training:
            return branch * self.keep
        is_kept = torch.rand((), device=branch.device) < self.keep
        forward = torch.where(is_kept, 1.0, 2 * self._draw(branch) - 1)
        backward = torch.where(is_kept, 1.0, self._draw(branch))
        # The value is forward * branch, the gradient is that of backward * branch.
        scaled = backward * branch
        return scaled + (forward * branch - scaled).detach()

    def _draw(self, branch: Tensor) -> Tensor:
        shape = (len(branch), 1, 1, 1)
        return torch.rand(shape, dtype=branch.dtype, device=branch.device)


EXPANSION = 4  # output channels / width of a bottleneck
FIRST_WIDTH = 16


class PyramidBottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 convolutions between four BNs; the skip connection is zero-padded."""

    def __init__(self, inputs: int, width: int, stride: int, keep: float) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.branch = nn.Sequential(
            nn.BatchNorm2d(inputs),
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shake = ShakeDrop(keep)
        self.stride, self.extra = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.stride == 1 else F.avg_pool2d(x, self.stride)
        shortcut = F.pad(shortcut, (0, 0, 0, 0, 0, self.extra))
        out: Tensor = self.shake(self.branch(x))
        return out + shortcut


class PyramidNet(nn.Module):
    """Three stages of (depth - 2) / 9 bottlenecks; `alpha` is added to the width in all.

    ShakeDrop keeps a branch with a probability that falls linearly over the blocks to 0.5.
    """

    def __init__(self, depth: int, alpha: int, num_classes: int) -> None:
        super().__init__()
        per_stage = (depth - 2) // 9
        num_blocks = 3 * per_stage
        self.conv = nn.Conv2d(3, FIRST_WIDTH, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(FIRST_WIDTH)
        features, blocks = FIRST_WIDTH, []
        for index in range(1, num_blocks + 1):
            width = round(FIRST_WIDTH + alpha * index / num_blocks)
            stride = 2 if index in (per_stage + 1, 2 * per_stage + 1) else 1
            keep = 1 - 0.5 * index / num_blocks
            blocks.append(PyramidBottleneck(features, width, stride, keep))
            features = width * EXPANSION
        self.blocks = nn.Sequential(*blocks)
        self.last_norm = nn.BatchNorm2d(features)
        self.linear = nn.Linear(features, num_classes)
        self.apply(initialize)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits [B, classes] of images [B, 3, H, W]."""
        out = self.blocks(self.norm(self.conv(x)))
        out = F.relu(self.last_norm(out))
        logits: Tensor = self.linear(out.mean((2, 3)))
        return logits


# The paper's, with ShakeDrop: 26.29 M parameters at 100 classes.
pyramidnet272 = partial(PyramidNet, 272, 200)
