"""What travels from a soft transform to the loss."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_integers
from softaug.softening import confidence, soft_target, uniform_prior


class SoftLabel(NamedTuple):
    """A class index and how much of its information the augmentation left.

    Tensors [B] for a batch; a Python int and float for one sample, which
    `torch.utils.data.default_collate` turns into such a batch. Holds no logic:
    the loss checks the values.

    >>> label = SoftLabel(torch.tensor([2, 0]), torch.tensor([1.0, 0.5]))
    >>> label.confidence(num_classes=4)
    tensor([1.0000, 0.6250])
    >>> label.dense(num_classes=4)
    tensor([[0.0000, 0.0000, 1.0000, 0.0000],
            [0.6250, 0.1250, 0.1250, 0.1250]])
    """

    label: Tensor | int
    retained: Tensor | float

    def confidence(self, num_classes: int) -> Tensor | float:
        """Probability the target gives to the true class."""
        if isinstance(self.retained, Tensor):
            return confidence(self.retained, num_classes)
        return confidence(float(self.retained), num_classes)

    def dense(self, num_classes: int) -> Tensor:
        """Target probabilities, [B, C] (or [C] for one sample), for any loss that takes them.

        The sample's weight is not in them: `SoftLoss(soften="target")` is what they equal.
        """
        kept = torch.as_tensor(self.retained).float()  # default_collate makes it float64
        labels = torch.as_tensor(self.label, device=kept.device)
        check_integers("SoftLabel.dense", "label", labels)
        return soft_target(labels, kept, uniform_prior(num_classes, like=kept))

    def to(self, device: torch.device | str, non_blocking: bool = False) -> SoftLabel:
        """The same batch of labels on `device`; one sample's numbers stay as they are."""
        label, kept = self
        if isinstance(label, Tensor):
            label = label.to(device, non_blocking=non_blocking)
        if isinstance(kept, Tensor):
            kept = kept.float() if torch.device(device).type == "mps" else kept  # no float64 there
            kept = kept.to(device, non_blocking=non_blocking)
        return SoftLabel(label, kept)
