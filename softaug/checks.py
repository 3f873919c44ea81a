"""Refuse bad input: who, rule, value received, remedy. Imports without torch."""

import difflib
import math
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NoReturn


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


def check_positive(who: str, name: str, value: Any, *, infinite: bool = False) -> float:
    """Return `value` as a float if it is a number above 0 (finite unless `infinite`)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        refuse(who, f"{name} must be a number > 0", describe(value))
    number = float(value)
    if not (0 < number < math.inf or (infinite and number == math.inf)):  # torch.compile traces it
        refuse(who, f"{name} must be > 0" + ("" if infinite else " and finite"), value)
    return number


def check_share(who: str, name: str, value: Any) -> float:
    """Return `value` as a float if it is a number in 0..1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        refuse(who, f"{name} must be a number in 0..1", describe(value))
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
