"""Networks by name."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torchvision.models import get_model  # type: ignore[attr-defined]

from softaug.checks import check_choice, nearest, refuse
from softaug.models.pyramidnet import pyramidnet272
from softaug.models.resnet import resnet8, resnet8_s2, resnet18, resnet20, resnet50, resnet101
from softaug.models.wide_resnet import wrn28_10
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
