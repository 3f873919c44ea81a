"""Networks by name.

Importing this file loads no torch, so that recipes can check names quickly. A new network is one
entry here and a file with a function of the number of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softaug.checks import check_choice, check_num_classes, nearest, refuse

if TYPE_CHECKING:
    from torch import nn

TIMM = "timm:"
TORCHVISION = "torchvision:"
HUBS = (TIMM, TORCHVISION)  # of pretrained weights

# A function of num_classes: itself, "module.function" in softaug.lab.models, or torchvision's.
MODELS: dict[str, str | Callable[[int], nn.Module]] = {
    "resnet8": "resnet.resnet8",
    "resnet8-s2": "resnet.resnet8_s2",
    "resnet8-tiny": "resnet.resnet8_tiny",
    "resnet20": "resnet.resnet20",
    "resnet18": "resnet.resnet18",
    "resnet50": "resnet.resnet50",
    "resnet101": "resnet.resnet101",
    "wrn28-10": "resnet.wrn28_10",
    "pyramidnet272": "pyramidnet.pyramidnet272",
    "vit-tiny-32": "vit.vit_tiny_32",
    "vit-tiny-64": "vit.vit_tiny_64",
    "fastnet": "fastnet.fastnet",
    "fastnet-wide": "fastnet.fastnet_wide",
    "efficientnet-b0": f"{TORCHVISION}efficientnet_b0",
    "imagenet-resnet50": f"{TORCHVISION}resnet50",
    "imagenet-resnet101": f"{TORCHVISION}resnet101",
}


def create(name: str, num_classes: int) -> nn.Module:
    """Create a new network for color images: a name of `MODELS`, or "timm:NAME" for one of timm's.

    >>> model = create("resnet20", num_classes=100)
    >>> sum(part.numel() for part in model.parameters())
    278324
    """
    check_num_classes("create", num_classes)
    check_model_name("create", "name", name)
    entry = MODELS.get(name, name)
    if not isinstance(entry, str):
        return entry(num_classes)
    if entry.startswith(TIMM):
        build = partial(import_timm("create").create_model, entry.removeprefix(TIMM))
    elif entry.startswith(TORCHVISION):
        get_model = import_module("torchvision.models").get_model
        build = partial(get_model, entry.removeprefix(TORCHVISION))
    else:
        module, _, function = entry.partition(".")
        build = getattr(import_module(f"softaug.lab.models.{module}"), function)
    model: nn.Module = build(num_classes=num_classes)
    return model


def check_model_name(who: str, what: str, name: str) -> None:
    """Refuse a name that is neither in `MODELS` nor timm's, naming the nearest."""
    if not str(name).startswith(TIMM):
        check_choice(who, what, name, (*MODELS, f"{TIMM}NAME"))
        return
    names, short = import_timm(who).list_models(), name.removeprefix(TIMM)
    if short not in names:
        rule = "NAME in timm:NAME must be one of timm.list_models()"
        refuse(who, rule, repr(short), nearest(short, names))


def import_timm(who: str) -> Any:
    """Import timm; refuse if it is not installed."""
    try:
        return import_module("timm")
    except ImportError:
        refuse(who, "timm must be installed for a timm: model", "no timm", "pip install timm")
