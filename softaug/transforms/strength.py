"""Settings that a pacer changes while training goes on."""

import math
from numbers import Real
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_inside, check_integers, check_positive, describe, refuse
from softaug.draws import has_float64, send

AUTO = "auto"
Auto = Literal["auto"]
By = Literal["all", "class", "sample"]  # who has a number of its own
BY = ("all", "class", "sample")
PLACES = {"class": "labels", "sample": "key.index"}  # in a table of such numbers
REMEDIES = {"class": "draw(images, labels=labels)", "sample": "key=DrawKey(seed, epoch, index)"}


class Paceable(NamedTuple):
    """The setting of a transform that says how strong it is."""

    name: str
    least: float  # that a pacer sets by itself
    most: float
    limit: float = math.inf  # beyond which there is none


SIGMA = Paceable("sigma", 0.05, 0.3)
STRENGTH = Paceable("strength", 0.1, 1.0, limit=1.0)  # multiplies what a transform draws


class Samples(NamedTuple):
    """Which samples a number is asked for."""

    label: Tensor | int | None = None  # their classes
    index: Tensor | int | None = None  # type: ignore[assignment]  # of a `DrawKey`


class Paced:
    """A number that a pacer sets: `SoftCrop(sigma="auto")` has one.

    It is one for all samples, one for each class, or one for each sample. It lies in shared
    memory, where loader workers see what is set after they were started, and is a tensor, so
    that compiled code reads it anew instead of being compiled for each value. A copy of the
    transform has the same one.
    """

    def __init__(self) -> None:
        self._value = _shared(())
        self.by: By = "all"
        self.is_set = False

    def divide(self, by: By, num: int | None) -> None:
        """Hold `num` numbers, one for each class or sample; with "all" one number."""
        shape = () if num is None else (num,)
        if self._value.shape != shape:  # else workers that have it keep it
            self._value = _shared(shape)
            self.is_set = False
        self.by = by

    def set(self, value: float | Tensor) -> None:
        """Use this number, or these, from now on."""
        self._value.copy_(torch.as_tensor(value, dtype=torch.float64))
        self.is_set = True

    def look_up(self, who: str, name: str, samples: Samples, like: Tensor) -> Tensor:
        """Return the number of each sample, [B] beside `like` [B, ...], or one for all."""
        values = self.read(who, name)
        if self.by == "all":
            return values
        rows = _rows(who, f"{name} is by {self.by}", self.by, samples, len(like))
        rule = f"{name} is by {self.by}, so {PLACES[self.by]} must be in 0..{len(values) - 1}"
        check_inside(who, rule, rows, len(values), "make the pacer with the right num")
        return send(send(values, rows.device)[rows], like.device)

    def read(self, who: str, name: str) -> Tensor:
        """The number or numbers, float64 on the CPU; refused before there is one."""
        if not self.is_set:
            remedy = "softaug.Pacer(transform, epochs) sets it"
            refuse(who, f'{name} "auto" must have a pacer', "none", remedy)
        return self._value

    def __deepcopy__(self, memo: dict[int, Any]) -> "Paced":
        return self  # a number of its own would silently stay where it is

    def __repr__(self) -> str:
        return repr(AUTO)


def check_strength(who: str, paceable: Paceable, value: Any) -> "float | Paced":
    """Return a number above 0 as a float, "auto" as what a pacer sets."""
    if isinstance(value, str) and value == AUTO:
        return Paced()
    if paceable.limit == math.inf:
        return check_positive(who, paceable.name, value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) <= paceable.limit:
        rule = f'{paceable.name} must be "auto" or a number above 0, at most {paceable.limit:g}'
        refuse(who, rule, describe(value))
    return float(value)


def _shared(shape: tuple[int, ...]) -> Tensor:
    """No number yet, where loader workers will see it."""
    values = torch.full(shape, math.nan, dtype=torch.float64)
    values.share_memory_()  # type: ignore[no-untyped-call]
    return values


def _rows(who: str, reason: str, by: By, samples: Samples, num: int) -> Tensor:
    """Where in the table these `num` samples are, [B], on a device that has float64."""
    given = samples.label if by == "class" else samples.index
    if given is None:
        refuse(who, f"{reason}, so {PLACES[by]} must be given", "none", REMEDIES[by])
    rows = torch.as_tensor(given).reshape(-1)
    check_integers(who, PLACES[by], rows)
    if len(rows) != num:
        refuse(who, f"{PLACES[by]} must be one for each of the {num} images", describe(given))
    return (rows if has_float64(rows.device) else rows.cpu()).long()
