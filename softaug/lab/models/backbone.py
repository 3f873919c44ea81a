"""What stands around a network: normalized images before it, its features in place of logits."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from softaug.checks import refuse


class Normalize(nn.Module):
    """Convert uint8 images to float32 with the given mean and standard deviation taken off.

    >>> Normalize(mean=[100.0], std=[50.0])(torch.full((1, 1, 1, 2), 200, dtype=torch.uint8))
    tensor([[[[2., 2.]]]])
    """

    mean: Tensor
    sd: Tensor

    def __init__(self, mean: list[float], std: list[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        # Called "sd" in the checkpoints of every run so far.
        self.register_buffer("sd", torch.tensor(std).view(-1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        return (images.float() - self.mean) / self.sd


def with_normalization(normalize: Normalize, net: nn.Module) -> nn.Sequential:
    """Put normalization before a network; in a state dict its keys begin with "net."."""
    return nn.Sequential(OrderedDict(normalize=normalize, net=net))


def initialize(module: nn.Module) -> None:
    """Initialize convolutions by He's normal distribution; leave the rest as torch has it."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def feature_extractor(model: nn.Module) -> tuple[nn.Module, int]:
    """Remove the classifier; return the network that gives features [B, D] then, and D.

    It is `model` itself. Its classifier is the last linear layer, with the dropout before it; for
    timm's networks what timm takes for it.

    >>> from softaug.lab.models import create
    >>> backbone, feature_size = feature_extractor(create("resnet18", num_classes=10))
    >>> feature_size
    512
    """
    part: Any
    for part in model.modules():
        if hasattr(part, "reset_classifier"):  # timm's: some have two, or more around it
            part.reset_classifier(0)
            return model, int(part.head_hidden_size)
    name = find_classifier(model, "feature_extractor")
    linear = model.get_submodule(name)
    assert isinstance(linear, nn.Linear)
    model.set_submodule(name, nn.Identity())
    parent_name, _, child = name.rpartition(".")
    parent = model.get_submodule(parent_name)
    if isinstance(parent, nn.Sequential):
        names = [name for name, _ in parent.named_children()]
        index = names.index(child) - 1
        if index >= 0 and isinstance(parent[index], nn.Dropout):
            parent[index] = nn.Identity()
    return model, linear.in_features


def find_classifier(model: nn.Module, who: str = "finetune") -> str:
    """Name the last linear layer of a network.

    >>> find_classifier(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)))
    '1'
    """
    names: list[str] = [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    if not names or names[-1] == "":
        rule = "model must be a network whose last layer is linear"
        remedy = "use one of softaug.lab.models.create"
        refuse(who, rule, type(model).__name__, remedy)
    return names[-1]
