"""Settings that a pacer changes while training goes on."""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_inside, check_integers, check_positive, describe, refuse
from softaug.draws import has_float64, send

AUTO = "auto"
Auto = Literal["auto"]
By = Literal["all", "class", "sample"]  # who has a number of its own
BY = ("all", "class", "sample")
# Where in a table of such numbers a sample is, and how this is given.
_PLACES = {
    "class": ("labels", "draw(images, labels=labels)"),
    "sample": ("key.index", "key=DrawKey(seed, epoch, index)"),
}


class Paceable(NamedTuple):
    """The setting of a transform that says how strong it is."""

    name: str
    least: float  # that a pacer sets by itself
    most: float
    limit: float = math.inf  # beyond which there is none


SIGMA = Paceable("sigma", 0.05, 0.3)
STRENGTH = Paceable("strength", 0.1, 1.0, limit=1.0)  # multiplies what a transform draws


class Paced:
    """A number that a pacer sets: `SoftCrop(sigma="auto")` has one.

    It is one for all samples, one for each class, or one for each sample. It lies in shared
    memory, where loader workers see what is set after they were started, and is a tensor, so
    that compiled code reads it anew instead of being compiled for each value. A copy of the
    transform has the same one.
    """

    def __init__(self) -> None:
        self._value = _make_shared(())
        self.by: By = "all"
        self.is_set = False

    def divide(self, by: By, num: int | None) -> None:
        """Hold `num` numbers, one for each class or sample; with "all" one number."""
        shape = () if num is None else (num,)
        if self._value.shape != shape:  # else workers that have it keep it
            self._value = _make_shared(shape)
            self.is_set = False
        self.by = by

    def set(self, value: float | Tensor) -> None:
        """Use this number, or these, from now on."""
        self._value.copy_(torch.as_tensor(value, dtype=torch.float64))
        self.is_set = True

    def read(self, who: str, name: str) -> Tensor:
        """The number or numbers, float64 on the CPU; refused before there is one."""
        if not self.is_set:
            remedy = "softaug.Pacer(transform, epochs) sets it"
            refuse(who, f'{name} "auto" must have a pacer', "none", remedy)
        return self._value

    def look_up(
        self, who: str, name: str, given: Mapping[str, Tensor | int | None], like: Tensor
    ) -> Tensor:
        """Return one number for all, or that of each sample, [B] beside `like` [B, ...].

        `given` holds the "class" and the "sample" (its index in the data) of each.
        """
        values, by = self.read(who, name), self.by
        if by == "all":
            return values
        (place, remedy), numbers = _PLACES[by], given[by]
        rule = f"{name} is by {by}, so {place} must be"
        if numbers is None:
            refuse(who, f"{rule} given", "none", remedy)
        rows = torch.as_tensor(numbers).reshape(-1)
        check_integers(who, place, rows)
        if len(rows) != len(like):
            refuse(who, f"{place} must be one for each of the {len(like)} images", describe(rows))
        rows = (rows if has_float64(rows.device) else rows.cpu()).long()
        remedy = "make the pacer with the right num"
        check_inside(who, f"{rule} in 0..{len(values) - 1}", rows, len(values), remedy)
        return send(send(values, rows.device)[rows], like.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Paced":
        return self  # a number of its own would silently stay where it is

    def __repr__(self) -> str:
        return repr(AUTO)


def check_strength(who: str, paceable: Paceable, value: Any) -> float | Paced:
    """Return a number above 0 as a float, "auto" as what a pacer sets."""
    if isinstance(value, str) and value == AUTO:
        return Paced()
    number = check_positive(who, paceable.name, value)
    if number > paceable.limit:
        refuse(who, f"{paceable.name} must be at most {paceable.limit:g}", value)
    return number


def _make_shared(shape: tuple[int, ...]) -> Tensor:
    """No number yet, where loader workers will see it."""
    values = torch.full(shape, math.nan, dtype=torch.float64)
    values.share_memory_()  # type: ignore[no-untyped-call]
    return values
