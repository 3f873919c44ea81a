"""How strong a transform is: a number, a law that draws one for each image, or a pacer's."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from softaug.checks import (
    check_inside,
    check_integers,
    check_not_negative,
    check_positive,
    check_share,
    describe,
    refuse,
)
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


@dataclass(frozen=True)
class Uniform:
    """A strength for each image, uniform in (0, most): `SoftCrop(sigma=Uniform(0.3))`.

    >>> Uniform(0.3).draw(torch.tensor([0.1, 0.5]))  # of numbers uniform in (0, 1)
    tensor([0.0300, 0.1500])
    """

    most: float

    def __post_init__(self) -> None:
        check_positive("Uniform", "most", self.most)

    def draw(self, uniform: Tensor) -> Tensor:
        """Turn numbers uniform in (0, 1) into strengths."""
        return self.most * uniform


@dataclass(frozen=True)
class Mixture:
    """The strength `far` for a `share` of the images, drawn at random, and `mild` for the others.

    >>> Mixture(mild=0.05, far=0.3, share=0.5).draw(torch.tensor([0.1, 0.9]))
    tensor([0.3000, 0.0500])
    """

    mild: float = 0.05
    far: float = 0.3
    share: float = 0.5

    def __post_init__(self) -> None:
        check_positive("Mixture", "far", self.far)
        check_share("Mixture", "share", self.share)
        if check_not_negative("Mixture", "mild", self.mild) > self.far:
            refuse("Mixture", f"mild must be at most {self.far:g}, which far is", self.mild)

    @property
    def most(self) -> float:
        """The largest strength."""
        return self.far

    def draw(self, uniform: Tensor) -> Tensor:
        """Turn numbers uniform in (0, 1) into strengths."""
        return torch.full_like(uniform, self.mild).masked_fill(uniform < self.share, self.far)


Law = Uniform | Mixture


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


def check_strength(who: str, paceable: Paceable, value: Any) -> float | Law | Paced:
    """Return a number above 0 as a float, a law as it is, "auto" as what a pacer sets."""
    if isinstance(value, str) and value == AUTO:
        return Paced()
    strength = value if isinstance(value, Law) else check_positive(who, paceable.name, value)
    if (strength.most if isinstance(strength, Law) else strength) > paceable.limit:
        refuse(who, f"{paceable.name} must be at most {paceable.limit:g}", value)
    return strength


def _make_shared(shape: tuple[int, ...]) -> Tensor:
    """No number yet, where loader workers will see it."""
    values = torch.full(shape, math.nan, dtype=torch.float64)
    values.share_memory_()  # type: ignore[no-untyped-call]
    return values
