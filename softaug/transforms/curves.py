"""Curves of what operations leave: naive ones, from JSON files, shipped with the package."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_choice, check_positive, check_share, describe, nearest, refuse
from softaug.draws import send
from softaug.transforms.operations import OPERATIONS, Operation
from softaug.transforms.strength import look_up_class

OF = ("strength", "visible")


@dataclass(frozen=True)
class Curve:
    """retained = 1 - loss * x^k, where x is |strength| or the share that is not visible.

    `loss` is what is lost at x = 1; `k` is one number, or one for each class.

    >>> Curve("visible", loss=1.0, k=2.0)(torch.tensor([0.0, 0.5, 1.0]))
    tensor([1.0000, 0.7500, 0.0000])
    """

    of: str
    loss: float
    k: float | tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice("Curve", "of", self.of, OF)
        check_share("Curve", "loss", self.loss)
        powers = self.k if isinstance(self.k, tuple) else (self.k,)
        if not powers:
            refuse("Curve", "k must be a number or one for each class", "none")
        for k in powers:
            check_positive("Curve", "k", k)

    def __call__(self, x: Tensor, label: Tensor | int | None = None) -> Tensor:
        """Compute what is retained at each x, [B] or [B, n]; a `k` by class reads `label` [B]."""
        if not isinstance(self.k, tuple):
            return 1 - self.loss * x**self.k
        if label is None:
            refuse("Curve", "one k for each class needs the labels", "none")
        k = look_up_class("Curve", "k", self.k, label, like=x).view(-1, *[1] * (x.ndim - 1))
        return 1 - self.loss * x**k


@dataclass(frozen=True)
class TableCurve:
    """`retained` at the points `lost` (increasing from 0 to 1), straight lines between them.

    >>> half = TableCurve("strength", lost=(0.0, 0.5, 1.0), retained=(1.0, 0.8, 0.0))
    >>> half(torch.tensor([0.25, 0.75]))
    tensor([0.9000, 0.4000])
    """

    of: str
    lost: tuple[float, ...]
    retained: tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice("TableCurve", "of", self.of, OF)
        for name, numbers in (("lost", self.lost), ("retained", self.retained)):
            if not isinstance(numbers, tuple):
                refuse("TableCurve", f"{name} must be a tuple of numbers", describe(numbers))
            for number in numbers:
                check_share("TableCurve", f"each number of {name}", number)
        increases = all(before < after for before, after in pairwise(self.lost))
        ends = self.lost[:1] + self.lost[-1:]
        if not increases or ends != (0, 1) or len(self.lost) != len(self.retained):
            rule = "lost must increase from 0 to 1, with one number of retained for each"
            refuse("TableCurve", rule, f"{self.lost} and {self.retained}")
        if not all(before >= after for before, after in pairwise(self.retained)):
            remedy = "an operation that loses more cannot leave more"
            refuse("TableCurve", "retained must not increase", self.retained, remedy)

    def __call__(self, x: Tensor, label: Tensor | int | None = None) -> Tensor:
        """Compute what is retained at each x, for all classes alike."""
        lost, retained = (
            send(torch.tensor(row, dtype=x.dtype), x.device) for row in (self.lost, self.retained)
        )
        slope = (retained[1:] - retained[:-1]) / (lost[1:] - lost[:-1])
        piece = torch.searchsorted(lost, x.contiguous(), right=True).clamp(1, len(lost) - 1) - 1
        return retained[piece] + slope[piece] * (x - lost[piece])


AnyCurve = Curve | TableCurve
Curves = Mapping[str, AnyCurve]


def _make_naive(operation: Operation) -> Curve:
    """Apply the crop's rule: to what is visible, or to the strength where all stays visible.

    It sees area alone: an image upside down is as good as upright.
    """
    if not operation.graded:
        return Curve("strength", loss=0.0, k=1.0)
    return Curve("visible" if operation.geometric else "strength", loss=1.0, k=2.0)


_FOLDER = Path(str(files("softaug.transforms"))) / "curves_data"
_SCHEMA = 1
NAIVE: Curves = {name: _make_naive(operation) for name, operation in OPERATIONS.items()}
SHIPPED = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def find_curves(who: str, curves: str | Path | Curves) -> dict[str, AnyCurve]:
    """Return curves by name ("naive" or one of `SHIPPED`), from a file, or as they are."""
    if isinstance(curves, Mapping):
        return check_curves(who, curves)
    if not isinstance(curves, str | Path):
        refuse(who, "curves must be a name, a path or a mapping", describe(curves))
    if curves == "naive":
        return dict(NAIVE)
    names, file = ("naive", *SHIPPED), find_curves_file(curves)
    if not file.is_file():
        rule = f"curves must be one of {', '.join(map(repr, names))} or a JSON file"
        refuse(who, rule, repr(str(curves)), nearest(str(curves), names))
    return read_curves(file)


def find_curves_file(curves: str | Path) -> Path:
    """Return the file of curves that are not "naive": in the package, else at the path."""
    return _FOLDER / f"{curves}.json" if curves in SHIPPED else Path(curves)


def check_curves(who: str, curves: Curves) -> dict[str, AnyCurve]:
    """Return `curves` if each is a curve of an operation, of something that it changes."""
    num_classes = {}
    for name, curve in curves.items():
        check_choice(who, "an operation", name, (*OPERATIONS, "crop"))
        if not isinstance(curve, Curve | TableCurve):
            refuse(who, f"the curve of {name!r} must be a Curve or a TableCurve", describe(curve))
        shown_whole = name in OPERATIONS and not OPERATIONS[name].geometric
        if curve.of == "visible" and shown_whole:
            remedy = "all of the image stays visible"
            refuse(who, f"the curve of {name!r} must be of its strength", repr(curve.of), remedy)
        if isinstance(curve, Curve) and isinstance(curve.k, tuple):
            num_classes[name] = len(curve.k)
    if len(set(num_classes.values())) > 1:
        counts = ", ".join(f"{num} for {name}" for name, num in num_classes.items())
        refuse(who, "curves with one k for each class must have equally many", counts)
    return dict(curves)


def read_curves(path: str | Path) -> dict[str, AnyCurve]:
    """Read the curves of a JSON file, as `write_curves` writes it."""
    who, keys = f"curves in {path}", '"schema", "kind", "operations" and "about"'
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        refuse(who, "the file must be readable", error.strerror)
    except (ValueError, RecursionError) as error:
        refuse(who, "the file must be JSON", error)
    if not isinstance(content, dict) or not set(content) <= {
        "schema",
        "kind",
        "operations",
        "about",
    }:
        refuse(
            who,
            f"keys must be {keys}",
            describe(content if type(content) is not dict else [*content]),
        )
    if (content.get("schema"), content.get("kind")) != (_SCHEMA, "curves"):
        rule = f'"schema" and "kind" must be {_SCHEMA} and "curves"'
        refuse(who, rule, f"{content.get('schema')!r} and {content.get('kind')!r}")
    operations = content.get("operations")
    if not isinstance(operations, dict):
        refuse(who, '"operations" must map names to curves', describe(operations))
    return check_curves(who, {n: _read_curve(f"{who}: {n}", c) for n, c in operations.items()})


def _read_curve(who: str, content: Any) -> AnyCurve:
    keys = set(content) if isinstance(content, dict) else set()
    kinds = (Curve, TableCurve)
    kind = next((kind for kind in kinds if keys == {field.name for field in fields(kind)}), None)
    if kind is None:
        rule = 'a curve must have the keys "of", "loss", "k" or "of", "lost", "retained"'
        refuse(who, rule, ", ".join(sorted(keys)) or describe(content))
    settings: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in content.items()}
    try:
        return kind(**settings)
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from None


def write_curves(path: str | Path, curves: Curves, about: Mapping[str, Any]) -> Path:
    """Write `curves` as JSON for `read_curves`; `about` says where they come from."""
    operations = {name: asdict(c) for name, c in check_curves("write_curves", curves).items()}
    results = {"schema": _SCHEMA, "kind": "curves", "operations": operations, "about": about}
    Path(path).write_text(json.dumps(results, indent=2) + "\n")
    return Path(path)
