"""Refuse bad tensors: wrong type, shape or values."""

from typing import Any

import torch
from torch import Tensor

from softaug.checks import describe, refuse

IMAGE_DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def eager_on_cpu(value: Tensor) -> bool:
    """Whether looking at values costs neither a wait for a device nor a graph break."""
    return value.device.type == "cpu" and not torch.compiler.is_compiling()


def check_integers(who: str, name: str, value: Tensor) -> None:
    """Refuse a tensor that does not hold whole numbers."""
    if value.dtype.is_floating_point or value.dtype.is_complex or value.dtype == torch.bool:
        refuse(who, f"{name} must be integers", describe(value), "labels are class indices")


def check_inside(who: str, rule: str, values: Tensor, num: int, remedy: str = "") -> None:
    """Refuse the first of `values` that is outside 0..num - 1, where looking is for free."""
    if not eager_on_cpu(values):
        return
    outside = (values < 0) | (values >= num)
    if bool(outside.any()):
        refuse(who, rule, int(values[outside][0]), remedy)


def check_images(who: str, images: Any) -> None:
    """Refuse what is not one image [C, H, W] or a non-empty batch [B, C, H, W]."""
    if not isinstance(images, Tensor):
        remedy = "put torchvision.transforms.v2.PILToTensor() before it"
        refuse(who, "images must be a tensor", type(images).__name__, remedy)
    if images.ndim not in (3, 4):
        refuse(who, "images must be [C, H, W] or [B, C, H, W]", describe(images))
    if images.dtype not in IMAGE_DTYPES:
        refuse(who, "images must be uint8 or floating point", describe(images))
    if images.numel() == 0:
        refuse(who, "images must not be empty", describe(images))
