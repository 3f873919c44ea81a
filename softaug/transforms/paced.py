"""Settings that a pacer changes while training goes on."""

import math
from typing import Any, Literal

import torch
from torch import Tensor

from softaug.checks import check_positive, refuse

AUTO = "auto"
Auto = Literal["auto"]


class Paced:
    """A number that a pacer sets: `SoftCrop(sigma="auto")` has one.

    It lies in shared memory, where loader workers see what is set after they were started, and
    is a tensor, so that compiled code reads it anew instead of being compiled for each value.
    A copy of the transform has the same one.
    """

    def __init__(self) -> None:
        self._value: Tensor = torch.full((), math.nan, dtype=torch.float64)
        self._value.share_memory_()  # type: ignore[no-untyped-call]
        self.is_set = False

    def set(self, value: float) -> None:
        """Use this number from now on."""
        self._value.fill_(value)
        self.is_set = True

    def read(self, who: str, name: str) -> Tensor:
        """The number, float64 on the CPU; refused before there is one."""
        if not self.is_set:
            remedy = "softaug.Pacer(transform, epochs) sets it"
            refuse(who, f'{name} "auto" must have a pacer', "none", remedy)
        return self._value

    def __deepcopy__(self, memo: dict[int, Any]) -> "Paced":
        return self  # a number of its own would silently stay where it is

    def __repr__(self) -> str:
        return repr(AUTO)


def check_setting(who: str, name: str, value: Any) -> "float | Paced":
    """Return a number above 0 as a float, "auto" as what a pacer sets."""
    if isinstance(value, str) and value == AUTO:
        return Paced()
    return check_positive(who, name, value)


def setting(who: str, name: str, value: "float | Paced") -> float | Tensor:
    """The number that a setting has now."""
    return value.read(who, name) if isinstance(value, Paced) else value
