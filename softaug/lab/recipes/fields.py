"""Types of a recipe's fields that carry their rule, and the base class that checks them."""

from collections.abc import Callable
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from softaug.checks import (
    check_choice,
    check_not_negative,
    check_positive,
    check_range,
    check_share,
    check_switch,
    check_whole,
    describe,
    refuse,
)

Check = Callable[[str, str, Any], object]


def is_number(value: object) -> bool:
    """Return whether a value is an int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_shares(who: str, name: str, values: Any) -> None:
    """Refuse what is no tuple of numbers in 0..1."""
    if not isinstance(values, tuple):
        refuse(who, f"{name} must be a tuple of shares", describe(values))
    for index, share in enumerate(values):
        check_share(who, f"{name}[{index}]", share)


Positive = Annotated[float, check_positive]
NotNegative = Annotated[float, check_not_negative]
Share = Annotated[float, check_share]
ShareTuple = Annotated[tuple[float, ...], check_shares]
Bounds = Annotated[tuple[float, float], check_range]
Shares = Annotated[tuple[float, float], partial(check_range, most=1.0)]
Whole = Annotated[int, partial(check_whole, least=0)]
Count = Annotated[int, partial(check_whole, least=1)]
Fill = Literal["data-mean", "image-mean", "black"]


class Spec:
    """A part of a recipe: its fields are checked when it is made, by the rules of their types."""

    who: ClassVar[str]

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, (check, optional) in _find_checks(kind).items():
            value = getattr(self, name)
            if value is not None or not optional:
                check(self.who, name, value)


@cache
def _find_checks(kind: Any) -> dict[str, tuple[Check, bool]]:
    """Return the check of each field whose type has one, and whether the field may be None."""
    checks: dict[str, tuple[Check, bool]] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        optional = NoneType in get_args(hint)
        inner = get_args(hint)[0] if optional else hint
        if get_origin(inner) is Annotated:
            checks[name] = inner.__metadata__[0], optional
        elif get_origin(inner) is Literal:
            checks[name] = partial(check_choice, choices=get_args(inner)), optional
        elif inner is bool:
            checks[name] = check_switch, optional
    return checks
