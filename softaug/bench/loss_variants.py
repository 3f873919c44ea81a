"""The losses that the suites "loss" and "memory" set side by side."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug import SoftLabel, SoftLoss, confidence
from softaug.bench.timing import Variants

HARD = "F.cross_entropy, hard labels"
SMOOTHED = "F.cross_entropy, label_smoothing=0.1"
DENSE = "F.cross_entropy, dense target built"
LISTING = "KL with a dense target and weight, as in the paper"
OURS = "SoftLoss"


def loss_variants(batch: int, num_classes: int) -> Variants:
    """Forward and backward of each loss on the same logits [B, C]."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, num_classes, generator=generator).requires_grad_()
    labels = torch.randint(0, num_classes, (batch,), generator=generator)
    soft = SoftLabel(labels, torch.rand(batch, generator=generator))
    loss = SoftLoss()
    forward: dict[str, Callable[[], Tensor]] = {
        HARD: lambda: F.cross_entropy(logits, labels),
        SMOOTHED: lambda: F.cross_entropy(logits, labels, label_smoothing=0.1),
        DENSE: lambda: F.cross_entropy(logits, soft.dense(num_classes)),
        LISTING: lambda: dense_divergence(logits, soft),
        OURS: lambda: loss(logits, soft),
    }
    return {name: _with_backward(call, logits) for name, call in forward.items()}


def _with_backward(forward: Callable[[], Tensor], logits: Tensor) -> Callable[[], None]:
    def both() -> None:
        logits.grad = None
        forward().backward()  # type: ignore[no-untyped-call]

    return both


def dense_divergence(logits: Tensor, soft: SoftLabel) -> Tensor:
    """Eq. 6 as it stands: weight * KL(target || prediction), with the whole target in memory."""
    labels, kept = torch.as_tensor(soft.label), torch.as_tensor(soft.retained)
    num_classes = logits.shape[1]
    weight = confidence(kept, num_classes).unsqueeze(1)  # [B, 1]
    others = (1 - weight) / (num_classes - 1)
    target = others.repeat(1, num_classes).scatter_(1, labels.unsqueeze(1), weight)
    divergence = F.kl_div(F.log_softmax(logits, dim=1), target, reduction="none").sum(1)
    return (weight.squeeze(1) * divergence).mean()
