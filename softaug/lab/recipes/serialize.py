"""A recipe as plain values and back, and what two recipes differ in."""

import hashlib
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from softaug.checks import check_choice, describe, nearest, refuse
from softaug.lab.io import read_json
from softaug.lab.recipes.augment import Erase, Factors, Pace, SigmaLaw
from softaug.lab.recipes.config import AnyRecipe, Finetune, Uncertainty

RECIPE = "recipe.json"
ABSENT = "(absent)"
RESTORE = "restore the file, or train again with another --out"  # a recipe.json
# What tables of recipes once did not have, oldest first, and what leaves all as it was.
LATER: dict[str, dict[str, Any]] = {
    "augment": {
        "pace": asdict(Pace()),
        "law": asdict(SigmaLaw()),
        "factors": json.loads(json.dumps(asdict(Factors()))),
        "erase": asdict(Erase()),
        "views": 1,
        "alternate_flip": False,
        "batchnorm_sigma": None,
    },
    "augment.pace": {"by": "all", "since": None, "settle": 0.0},
    "data": {"test_share": 0.0},
    "optim": {
        "name": "SGD",
        "nesterov": True,
        "betas": None,
        "schedule": "cosine",
        "drops": [0.6, 0.8],
    },
    "loss": {"max_suppression": 0.0},
}


def as_dict(recipe: AnyRecipe) -> dict[str, Any]:
    """Convert a recipe to JSON values: dicts, lists, strings, numbers, booleans and None."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return plain


def from_dict(values: Mapping[str, Any]) -> AnyRecipe:
    """Build the recipe that `as_dict` made `values` from; the keys show of which kind it is.

    Every field must be there, known and of its type, so no typing error becomes a default; only
    fields that are younger than a recipe may be missing in it.
    """
    recipe: AnyRecipe = _build(AnyRecipe, as_of_today(values), "")
    return recipe


def read_values(path: Path, who: str) -> dict[str, Any]:
    """Read the table of a recipe.json, of any age; what is no table is refused by the file."""
    values = read_json(path, f"{who}: {path}", RESTORE)
    if not isinstance(values, dict):
        rule = "the file must be a recipe, a table of keys and values"
        refuse(f"{who}: {path}", rule, describe(values), RESTORE)
    return values


def read_recipe(path: Path, who: str) -> AnyRecipe:
    """Read a recipe.json; what is no recipe is refused by the name of the file."""
    values = read_values(path, who)
    try:
        return from_dict(values)
    except ValueError as refused:
        raise ValueError(f"{who}: {path}: {refused}") from None


def hash_recipe(values: Mapping[str, Any]) -> str:
    """Return the sha256 of a recipe's table, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def as_of_today(values: Any) -> Any:
    """Return a recipe of any age with today's names and fields.

    Fields that came later do nothing: `LATER` has their values. A pace that is off gets today's
    defaults. `max_shift` was once `reach`, "normalized" was "normalised"; the rule that needed
    `held_out` is gone.
    """
    values = deepcopy(values)
    for path, added in LATER.items():
        table = values
        for name in path.split("."):
            table = table.get(name) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table |= {**added, **table}
    match values:
        case {"augment": {"crop": {"reach": reach} as crop} as augment}:
            del crop["reach"]
            crop["max_shift"] = reach
            steps = json.dumps(augment.get("schedules")).replace("crop.reach", "crop.max_shift")
            augment["schedules"] = json.loads(steps)
    match values:
        case {"loss": {"weighting": "normalised"} as loss}:
            loss["weighting"] = "normalized"
    match values:
        case {"augment": _, "members": _}:  # of a recipe with labels
            values.setdefault("finetune", asdict(Finetune()))
            values.setdefault("uncertainty", json.loads(json.dumps(asdict(Uncertainty()))))
    match values:
        case {"augment": {"pace": {"held_out": _} as pace}}:
            del pace["held_out"]
    match values:
        case {"augment": {"pace": {"rule": "none"}} as augment}:
            augment["pace"] = asdict(Pace())
    return values


def _build(kind: Any, value: Any, path: str) -> Any:
    """Build `value` as the type `kind`; `path` is its dotted name, empty for the recipe itself."""
    kinds, origin = get_args(kind), get_origin(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in kinds:
            return None
        others = [one for one in kinds if one is not NoneType]
        if isinstance(value, Mapping) and all(map(is_dataclass, others)):  # that with most keys
            others.sort(key=lambda one: len({each.name for each in fields(one)} ^ set(value)))
        return _build(others[0], value, path)
    if origin is Literal:
        check_choice("recipe", path, value, kinds)
        return value
    if origin is tuple:
        return _build_tuple(kinds, value, path)
    if is_dataclass(kind):
        return _build_fields(kind, value, path)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # a boolean is no number
        types = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        refuse("recipe", f"{path} must be {types[kind]}", describe(value))
    return value


def _build_fields(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        refuse("recipe", f"{path or 'it'} must be a table of keys and values", describe(value))
    hints = get_type_hints(kind)
    names = sorted(each.name for each in fields(kind))
    for key in sorted(set(map(str, value)) - set(names)):
        near = nearest(key, names)  # the key alone: a long path is like any other
        paths = [_join(path, name) for name in names]
        remedy = nearest(_join(path, key), paths) if near else f"the keys are {', '.join(paths)}"
        rule = "every key must be a field of the recipe"
        refuse("recipe", rule, repr(_join(path, key)), remedy)
    for name in names:
        if name not in value:
            rule = f"{_join(path, name)} must be given"
            refuse("recipe", rule, f"only {', '.join(sorted(value))}")
    return kind(**{name: _build(hints[name], value[name], _join(path, name)) for name in value})


def _build_tuple(kinds: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        refuse("recipe", f"{path} must be a list", describe(value))
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(value) != len(kinds):
        refuse("recipe", f"{path} must hold {len(kinds)} values", value)
    paths = [f"{path}[{index}]" for index in range(len(value))]
    return tuple(map(_build, kinds, value, paths))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def dotted(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Nested tables as one, by dotted names.

    >>> dotted({"optim": {"lr": 0.1}, "epochs": 5})
    {'optim.lr': 0.1, 'epochs': 5}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, Mapping) and bool(value)
        flat |= dotted(value, _join(path, name)) if inner else {_join(path, name): value}
    return flat


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List each value that is not the same in both, by its dotted name.

    >>> differences({"optim": {"lr": 0.1}}, {"optim": {"lr": 0.05, "ema": 0.9}})
    ['optim.ema: (absent) -> 0.9', 'optim.lr: 0.1 -> 0.05']
    >>> differences({"mix": None}, {"mix": {"alpha": 1.0}})
    ['mix.alpha: (absent) -> 1.0']
    """
    before, after = dotted(old), dotted(new)
    names = sorted(before | after)
    lines = []
    for name in names:
        was, now = (json.dumps(side[name]) if name in side else ABSENT for side in (before, after))
        of_table = any(other.startswith(f"{name}.") for other in names)  # its keys say it
        if was != now and not of_table:
            lines.append(f"{name}: {was} -> {now}")
    return lines
