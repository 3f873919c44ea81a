"""Networks by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import get_model  # type: ignore[attr-defined]

from softaug.checks import check_choice, nearest, refuse
from softaug.lab.models.pyramidnet import pyramidnet272
from softaug.lab.models.resnet import resnet8, resnet8_s2, resnet18, resnet20, resnet50, resnet101
from softaug.lab.models.wide_resnet import wrn28_10
from softaug.softening import check_num_classes


def _from_torchvision(name: str) -> Callable[[int], nn.Module]:
    def build(num_classes: int) -> nn.Module:
        model: nn.Module = get_model(name, num_classes=num_classes)
        return model

    return build


MODELS: dict[str, Callable[[int], nn.Module]] = {
    "resnet8": resnet8,
    "resnet8-s2": resnet8_s2,
    "resnet20": resnet20,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "resnet101": resnet101,
    "wrn28-10": wrn28_10,
    "pyramidnet272": pyramidnet272,
    "efficientnet-b0": _from_torchvision("efficientnet_b0"),
    "imagenet-resnet50": _from_torchvision("resnet50"),
    "imagenet-resnet101": _from_torchvision("resnet101"),
}


def create(name: str, num_classes: int) -> nn.Module:
    """A fresh network for colour images: a name of `MODELS`, or "timm:NAME" for one of timm's.

    >>> model = create("resnet20", num_classes=100)
    >>> sum(part.numel() for part in model.parameters())
    278324
    """
    check_num_classes("create", num_classes)
    check_known("create", "name", name)
    if name in MODELS:
        return MODELS[name](num_classes)
    model: nn.Module = _timm("create").create_model(
        name.removeprefix("timm:"), num_classes=num_classes
    )
    return model


def check_known(who: str, what: str, name: str) -> None:
    """Refuse a name that is none of `MODELS` and not timm's, naming the nearest."""
    if str(name).startswith("timm:"):
        _check_timm(who, name.removeprefix("timm:"))
    else:
        check_choice(who, what, name, (*MODELS, "timm:NAME"))


def _check_timm(who: str, name: str) -> None:
    known = _timm(who).list_models()
    if name not in known:
        rule = "NAME in timm:NAME must be one of timm.list_models()"
        refuse(who, rule, repr(name), nearest(name, known))


def _timm(who: str) -> Any:
    try:
        import timm
    except ImportError:
        refuse(who, "timm must be installed for a timm: model", "no timm", "pip install timm")
    return timm


def feature_extractor(model: nn.Module) -> tuple[nn.Module, int]:
    """The network that gives what its classifier saw, [B, features], and how many these are.

    It is `model` itself, whose classifier is gone after this: the last linear layer, with the
    dropout before it; for timm's networks what timm takes for it.

    >>> from softaug.lab.models import create
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
        refuse(
            "feature_extractor", rule, type(model).__name__, "use one of softaug.lab.models.create"
        )
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


class Standardise(nn.Module):
    """Convert uint8 images to float32 of mean 0 and sd 1 over the images it was made for.

    >>> Standardise(mean=[100.0], sd=[50.0])(torch.full((1, 1, 1, 2), 200, dtype=torch.uint8))
    tensor([[[[2., 2.]]]])
    """

    mean: Tensor
    sd: Tensor

    def __init__(self, mean: list[float], sd: list[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("sd", torch.tensor(sd).view(-1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        return (images.float() - self.mean) / self.sd

    @classmethod
    def of(cls, images: Tensor) -> Standardise:
        """The one for these images [N, C, H, W], each channel by itself."""
        values = images.double()
        return cls(values.mean((0, 2, 3)).tolist(), values.std((0, 2, 3)).tolist())
