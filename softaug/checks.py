"""Refuse bad input: who, rule, value received, remedy. Importing it loads no torch."""

import difflib
import math
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from torch import Tensor


class NotFiniteError(ValueError):
    """Training diverged: a weight or an output is not finite. A retry does not help."""


def refuse(
    who: str, rule: str, got: object, remedy: str = "", error: type[ValueError] = ValueError
) -> NoReturn:
    """Raise the `ValueError` that every part of softaug uses for bad input."""
    raise error(f"{who}: {rule}, got {got}" + (f"; {remedy}" if remedy else ""))


def describe(value: object) -> str:
    """Name a value shortly: the shape and type of a tensor, else its type and value."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} tensor of shape {list(value.shape)}"
    return f"{type(value).__name__} {str(value)[:60]}"


def is_real(value: object) -> bool:
    """Tell whether it is a number of any size, or none, such as NaN; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(who: str, name: str, value: Any, *, infinite: bool = False) -> float:
    """Return `value` as a float if it is a number above 0 (finite unless `infinite`)."""
    if not is_real(value):
        refuse(who, f"{name} must be a number > 0", describe(value))
    number = float(value)
    if not (0 < number < math.inf or (infinite and number == math.inf)):  # torch.compile traces it
        refuse(who, f"{name} must be > 0" + ("" if infinite else " and finite"), value)
    return number


def check_share(who: str, name: str, value: Any) -> float:
    """Return `value` as a float if it is a number in 0..1."""
    return check_not_negative(who, name, value, most=1)


def check_not_negative(who: str, name: str, value: Any, most: float = math.inf) -> float:
    """Return `value` as a float if it is a finite number in 0..most."""
    if not is_real(value) or not 0 <= float(value) <= most or math.isinf(value):
        rule = f"a number in 0..{most:g}" if most < math.inf else "a finite number >= 0"
        refuse(who, f"{name} must be {rule}", describe(value))
    return float(value)


def check_whole(who: str, name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        refuse(who, f"{name} must be a whole number >= {least}", describe(value))
    return int(value)


def check_range(who: str, name: str, value: Any, most: float = math.inf) -> tuple[float, float]:
    """Return `value` as (low, high) if 0 < low <= high <= most, both finite."""
    try:
        low, high = map(float, value)
    except (TypeError, ValueError):
        refuse(who, f"{name} must be a pair (low, high)", describe(value))
    if not 0 < low <= high <= most or math.isinf(high):
        limit = f" <= {most:g}" if most < math.inf else ""
        refuse(who, f"{name} must be 0 < low <= high{limit}", value)
    return low, high


def check_switch(who: str, name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        refuse(who, f"{name} must be True or False", describe(value))


def check_choice(who: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a `value` that is none of `choices`, naming the nearest."""
    if value in choices:
        return
    rule = f"{name} must be one of {', '.join(map(repr, choices))}"
    refuse(who, rule, repr(value), nearest(str(value), choices))


def nearest(value: str, choices: Sequence[str]) -> str:
    """A question that names the choice most like `value`; empty where none is like it."""
    near = difflib.get_close_matches(value, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def eager_on_cpu(value: "Tensor") -> bool:
    """Tell whether reading values costs neither a wait for a device nor a graph break."""
    import torch

    return value.device.type == "cpu" and not torch.compiler.is_compiling()


def check_integers(who: str, name: str, value: "Tensor") -> None:
    """Refuse a tensor that does not hold whole numbers."""
    import torch

    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        refuse(who, f"{name} must be integers", describe(value), "labels are class indices")


def check_inside(who: str, rule: str, values: "Tensor", num: int, remedy: str = "") -> None:
    """Refuse the first of `values` that is outside 0..num - 1, where `eager_on_cpu`."""
    if not eager_on_cpu(values):
        return
    outside = (values < 0) | (values >= num)
    if bool(outside.any()):
        refuse(who, rule, int(values[outside][0]), remedy)


def check_images(who: str, images: Any) -> None:
    """Refuse what is not one image [C, H, W] or a non-empty batch [B, C, H, W]."""
    import torch

    if not isinstance(images, torch.Tensor):
        remedy = "put torchvision.transforms.v2.PILToTensor() before it"
        refuse(who, "images must be a tensor", type(images).__name__, remedy)
    if images.ndim not in (3, 4):
        refuse(who, "images must be [C, H, W] or [B, C, H, W]", describe(images))
    floats = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    if images.dtype not in (torch.uint8, *floats):
        refuse(who, "images must be uint8 or floating point", describe(images))
    if images.numel() == 0:
        refuse(who, "images must not be empty", describe(images))


def check_num_classes(who: str, num_classes: int) -> None:
    """Refuse fewer than two classes: there is nothing to be unsure about."""
    if num_classes < 2:
        refuse(who, "the number of classes must be at least 2", num_classes)
