"""Checks JSON values against the types that describe them."""

from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from softaug.checks import describe, refuse

_NAMES = {float: "a number", int: "a whole number", str: "a string", type(None): "null"}


def check_shape(value: Any, shape: Any, who: str, remedy: str = "", where: str = "") -> None:
    """Refuse a `value` that is not as the type `shape` says, naming the place.

    Knows TypedDict (more keys are fine, those of total=False may be missing) and it or null,
    list, dict with string keys, optional and plain types.

    >>> check_shape({"a": [1, 2.5]}, dict[str, list[float]], "file")
    >>> check_shape({"a": [1, "x"]}, dict[str, list[float]], "file")
    Traceback (most recent call last):
    ValueError: file: a[1] must be a number, got str x
    """
    if (record := _optional_record(shape)) is not None:
        if value is not None:
            _check_record(value, record, who, remedy, where)
    elif is_typeddict(shape):
        _check_record(value, shape, who, remedy, where)
    elif get_origin(shape) is list:
        _check_type(value, list, "a list", who, remedy, where)
        for number, part in enumerate(value):
            check_shape(part, get_args(shape)[0], who, remedy, f"{where}[{number}]")
    elif get_origin(shape) is dict:
        _check_type(value, dict, "an object", who, remedy, where)
        for key, part in value.items():
            check_shape(part, get_args(shape)[1], who, remedy, _join(where, key))
    else:
        _check_plain(value, get_args(shape) or (shape,), who, remedy, where)


def _optional_record(shape: Any) -> Any:
    """The TypedDict of "TypedDict or null"; None for all other shapes."""
    parts = get_args(shape)
    return next((part for part in parts if is_typeddict(part) and type(None) in parts), None)


def _check_record(value: Any, shape: Any, who: str, remedy: str, where: str) -> None:
    _check_type(value, dict, "an object", who, remedy, where)
    for key, part in get_type_hints(shape).items():
        if key not in value and key in shape.__optional_keys__:
            continue
        if key not in value:
            refuse(who, f"{_join(where, key)} must be there", "nothing", remedy)
        check_shape(value[key], part, who, remedy, _join(where, key))


def _check_plain(value: Any, types: tuple[Any, ...], who: str, remedy: str, where: str) -> None:
    if object in types:
        return
    accepted = (*types, int) if float in types else types
    if isinstance(value, bool) or not isinstance(value, accepted):
        rule = " or ".join(_NAMES.get(kind, str(kind)) for kind in types)
        refuse(who, f"{where or 'the file'} must be {rule}", describe(value), remedy)


def _check_type(value: Any, kind: type, name: str, who: str, remedy: str, where: str) -> None:
    if not isinstance(value, kind):
        refuse(who, f"{where or 'the file'} must be {name}", describe(value), remedy)


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
