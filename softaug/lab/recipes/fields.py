"""Types of a recipe's fields that carry their rule, and the base class that checks them."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from softaug.checks import (
    check_choice,
    check_positive,
    check_range,
    check_share,
    check_switch,
    check_whole,
    refuse,
)

Check = Callable[[str, str, Any], object]


def is_number(value: object) -> bool:
    """Whether a value is an int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_not_negative(who: str, name: str, value: float) -> None:
    """Refuse what is no finite number of at least 0."""
    if not (is_number(value) and 0 <= value < float("inf")):
        refuse(who, f"{name} must be a number >= 0", value)


Positive = Annotated[float, check_positive]
NotNegative = Annotated[float, check_not_negative]
Share = Annotated[float, check_share]
Bounds = Annotated[tuple[float, float], check_range]
Shares = Annotated[tuple[float, float], partial(check_range, most=1.0)]
Whole = Annotated[int, partial(check_whole, least=0)]
Count = Annotated[int, partial(check_whole, least=1)]
Fill = Literal["data-mean", "image-mean", "black"]


class FieldRule(NamedTuple):
    """The check of a field's value; an optional field may also be None."""

    check: Check
    optional: bool


class Spec:
    """A part of a recipe: its fields are checked when it is made, by the rules of their types."""

    who: ClassVar[str]

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, rule in _rules(kind).items():
            value = getattr(self, name)
            if value is not None or not rule.optional:
                rule.check(self.who, name, value)


@cache
def _rules(kind: Any) -> dict[str, FieldRule]:
    hints = get_type_hints(kind, include_extras=True)
    found = {field.name: _rule(hints[field.name]) for field in fields(kind)}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(hint: Any) -> FieldRule | None:
    """The rule that a type carries: of a `Literal`, a bool and the types above; else None."""
    optional = False
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        hint, optional = get_args(hint)[0], True
    if get_origin(hint) is Annotated:
        return FieldRule(hint.__metadata__[0], optional)
    if get_origin(hint) is Literal:
        return FieldRule(partial(check_choice, choices=get_args(hint)), optional)
    return FieldRule(check_switch, optional) if hint is bool else None
