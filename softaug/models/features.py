"""A classifier's network without its last layer."""

from typing import Any

from torch import nn

from softaug.checks import refuse


def feature_extractor(model: nn.Module) -> tuple[nn.Module, int]:
    """The network that gives what its classifier saw, [B, features], and how many these are.

    It is `model` itself, whose classifier is gone after this: the last linear layer, with the
    dropout before it; for timm's networks what timm takes for it.

    >>> from softaug.models import create
    >>> backbone, feature_size = feature_extractor(create("resnet18", num_classes=10))
    >>> feature_size
    512
    """
    for part in model.modules():
        if hasattr(part, "reset_classifier"):
            return model, _reset(part)
    linear = [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    if not linear or linear[-1] == "":
        rule = "model must be a network whose last layer is linear"
        refuse("feature_extractor", rule, type(model).__name__, "use one of softaug.models.create")
    return model, _remove(model, linear[-1])


def _reset(network: Any) -> int:
    """Remove the classifier of one of timm's networks: some have two, or more around it."""
    network.reset_classifier(0)
    return int(network.head_hidden_size)


def _remove(model: nn.Module, name: str) -> int:
    """Put identity in the place of a linear layer, and of a dropout that feeds it alone."""
    linear = model.get_submodule(name)
    assert isinstance(linear, nn.Linear)
    model.set_submodule(name, nn.Identity())
    where, _, place = name.rpartition(".")
    parent = model.get_submodule(where)
    if isinstance(parent, nn.Sequential) and place not in ("", "0"):
        before = int(place) - 1
        if isinstance(parent[before], nn.Dropout):
            parent[before] = nn.Identity()
    return linear.in_features
