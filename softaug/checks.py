"""Refuse bad input: who, rule, value received, remedy. Importing it loads no torch."""

import difflib
import math
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from torch import Tensor


LARGEST = 1e30  # of a setting: its product with an edge or 255 is finite in float32 too
LARGEST_WHOLE = 2**63 - 1  # what an int64 tensor holds


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
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:  # Python may refuse to print it
        return f"an integer of {value.bit_length()} bits"
    return f"{type(value).__name__} {str(value)[:60]}"


def is_real(value: object) -> bool:
    """Tell whether it is a number of any size, or none, such as NaN; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(who: str, name: str, value: Any, *, infinite: bool = False) -> float:
    """Return `value` as a float if it is a number above 0 (finite unless `infinite`)."""
    if not is_real(value):
        refuse(who, f"{name} must be a number > 0", describe(value))
    if not (0 < value <= LARGEST or (infinite and value == math.inf)):  # torch.compile traces it
        if LARGEST < value < math.inf:
            refuse(who, f"{name} must be at most {LARGEST:g}", describe(value))
        refuse(who, f"{name} must be > 0" + ("" if infinite else " and finite"), value)
    return float(value)


def check_share(who: str, name: str, value: Any) -> float:
    """Return `value` as a float if it is a number in 0..1."""
    return check_not_negative(who, name, value, most=1)


def check_not_negative(who: str, name: str, value: Any, most: float = LARGEST) -> float:
    """Return `value` as a float if it is a finite number in 0..most."""
    if not is_real(value) or not 0 <= value <= most:
        rule = f"a number in 0..{most:g}" if most < LARGEST else "a finite number >= 0"
        rule += f", at most {LARGEST:g}" if is_real(value) and LARGEST < value < math.inf else ""
        refuse(who, f"{name} must be {rule}", describe(value))
    return float(value)


def check_whole(who: str, name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        refuse(who, f"{name} must be a whole number >= {least}", describe(value))
    if int(value) > LARGEST_WHOLE:
        refuse(who, f"{name} must be at most {LARGEST_WHOLE}", describe(value))
    return int(value)


def check_range(who: str, name: str, value: Any, most: float = LARGEST) -> tuple[float, float]:
    """Return `value` as (low, high) if 0 < low <= high <= most, both finite."""
    try:
        low, high = map(float, value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last of complex tensors
        refuse(who, f"{name} must be a pair (low, high)", describe(value))
    if not 0 < low <= high <= most:
        limit = f" <= {most:g}" if most < LARGEST or LARGEST < high < math.inf else ""
        refuse(who, f"{name} must be 0 < low <= high{limit}", value)
    return low, high


def check_switch(who: str, name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        refuse(who, f"{name} must be True or False", describe(value))


def check_choice(who: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a `value` that is none of `choices`, naming the nearest."""
    if type(value) in map(type, choices) and value in choices:  # an array has no truth value
        return
    rule = f"{name} must be one of {', '.join(map(repr, choices))}"
    refuse(who, rule, repr(value), nearest(str(value), choices))


def nearest(value: str, choices: Sequence[str]) -> str:
    """Ask for the choice most like `value`; return nothing where none is like it."""
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
    values = values.long()  # uint16 has no comparisons
    outside = (values < 0) | (values >= num)
    if bool(outside.any()):
        refuse(who, rule, int(values[outside][0]), remedy)


def is_float(value: "Tensor") -> bool:
    """Tell whether torch computes with its type: not so with float8."""
    import torch

    return value.dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def check_within(who: str, name: str, values: "Tensor") -> None:
    """Refuse the first of `values` that is not in 0..1; waits for the device."""
    if values.numel() == 0:
        return
    least, most = (float(bound) for bound in values.detach().aminmax())
    if not (least >= 0 and most <= 1):  # also when either is NaN
        outside = ~((values >= 0) & (values <= 1))
        sample = int(outside.nonzero()[0, 0]) if values.ndim else 0
        got = f"{float(values[outside][0])} (sample {sample})"
        refuse(who, f"{name} must be in [0, 1]", got)


def to_tensor(who: str, name: str, value: Any, **options: Any) -> "Tensor":
    """Return `value` as `torch.as_tensor` does, if it does."""
    import torch

    if isinstance(value, torch.Tensor) and not options:
        return value
    try:
        return torch.as_tensor(value, **options)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        refuse(who, f"{name} must be a tensor or numbers", describe(value))


def check_images(who: str, images: Any) -> None:
    """Refuse what is not one image [C, H, W] or a non-empty batch [B, C, H, W]."""
    import torch

    if not isinstance(images, torch.Tensor):
        remedy = "put torchvision.transforms.v2.PILToTensor() before it"
        refuse(who, "images must be a tensor", type(images).__name__, remedy)
    if images.ndim not in (3, 4):
        refuse(who, "images must be [C, H, W] or [B, C, H, W]", describe(images))
    if images.dtype != torch.uint8 and not is_float(images):
        refuse(who, "images must be uint8 or floating point", describe(images))
    if images.numel() == 0:
        refuse(who, "images must not be empty", describe(images))


def check_num_classes(who: str, num_classes: int) -> None:
    """Refuse fewer than two classes: there is nothing to be unsure about."""
    if not hasattr(num_classes, "__index__") or getattr(num_classes, "shape", ()) != ():
        refuse(who, "the number of classes must be a whole number", describe(num_classes))
    if num_classes < 2:
        refuse(who, "the number of classes must be at least 2", num_classes)
    if num_classes > LARGEST_WHOLE:
        rule = f"the number of classes must be at most {LARGEST_WHOLE}"
        refuse(who, rule, describe(num_classes))
