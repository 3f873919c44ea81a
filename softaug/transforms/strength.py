"""How strong a transform is: a number, a law that draws one for each image, or a pacer's."""

import math
from collections.abc import Callable, Mapping, Sequence
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
    eager_on_cpu,
    is_float,
    refuse,
)
from softaug.draws import has_float64, send

AUTO = "auto"
Auto = Literal["auto"]
By = Literal["all", "class", "sample"]  # who has a number of its own
BY = ("all", "class", "sample")
# What indexes a table of such numbers, and how it is passed.
_INDEXED_BY = {
    "class": ("labels", "draw(images, labels=labels)"),
    "sample": ("key.index", "key=DrawKey(seed, epoch, index)"),
}


class Paceable(NamedTuple):
    """The setting of a transform that is its strength."""

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
Each = Callable[[Tensor, Tensor], Tensor]  # of index [B] and label [B]: a number for each, [B]
Strengths = float | Sequence[float] | Tensor | Each | Law | Auto  # what a user may give (Eq. 11)
Checked = float | tuple[float, ...] | Each | Law  # what a transform keeps of it, but for "auto"
Index = Tensor | int | None  # of each sample in the data, where a key has it


def look_up_class(
    who: str, name: str, values: tuple[float, ...], label: Any, like: Tensor
) -> Tensor:
    """Look up the number of each sample's class, [B], in the type and on the device of `like`.

    >>> look_up_class("docs", "k", (1.5, 2.0, 2.5), torch.tensor([2, 0]), like=torch.ones(2))
    tensor([2.5000, 1.5000])
    """
    if label is None:
        rule = f"{name} is by class, so labels must be given"
        refuse(who, rule, "none", "draw(images, labels=labels)")
    labels = torch.as_tensor(label)
    check_integers(who, f"labels for one {name} a class", labels)
    labels = labels.reshape(-1).long()
    rule = f"{name} is for {len(values)} classes, so labels must be in 0..{len(values) - 1}"
    check_inside(who, rule, labels, len(values), f"give one {name} for each class")
    table = send(torch.tensor(values, dtype=like.dtype), like.device)
    return table[send(labels, like.device)]


def look_up_each(
    who: str, name: str, function: Each, index: Index, label: Any, like: Tensor
) -> Tensor:
    """Return what a function of index and label gives each sample, [B], checked to be above 0."""
    for given, value, remedy in (
        ("key.index", index, "key=DrawKey(seed, epoch, index)"),
        ("labels", label, "draw(images, labels=labels)"),
    ):
        if value is None:
            rule = f"{name} is a function of index and label, so {given} must be given"
            refuse(who, rule, "none", remedy)
    values = function(torch.as_tensor(index).reshape(-1), torch.as_tensor(label))
    if not isinstance(values, Tensor) or values.shape != like.shape[:1] or not is_float(values):
        rule = f"{name}(index, label) must be floating point [B] for {len(like)} images"
        refuse(who, rule, describe(values))
    if eager_on_cpu(values) and not bool((values > 0).all()):  # also where one is NaN
        refuse(who, f"{name}(index, label) must be > 0", float(values[~(values > 0)][0]))
    return send(values, like.device).to(like.dtype)


def check_each(who: str, name: str, value: Any, infinite: bool = False) -> Any:
    """Return a number above 0 as a float, one for each class as a tuple, a function as it is."""
    if callable(value) and not isinstance(value, Tensor):
        return value
    if isinstance(value, Tensor) and value.ndim == 1 and is_float(value):
        value = value.tolist()
    if isinstance(value, str) or not isinstance(value, Sequence):
        return check_positive(who, name, value, infinite=infinite)
    if not value:
        refuse(who, f"{name} must be a number > 0, or one for each class", "none")
    names = [f"{name} of class {number}" for number in range(len(value))]
    pairs = zip(names, value, strict=True)
    return tuple(check_positive(who, of_class, own, infinite=infinite) for of_class, own in pairs)


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
        """Return the number or numbers, float64 on the CPU; refuse before there is one."""
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
        (argument, remedy), numbers = _INDEXED_BY[by], given[by]
        rule = f"{name} is by {by}, so {argument} must be"
        if numbers is None:
            refuse(who, f"{rule} given", "none", remedy)
        rows = torch.as_tensor(numbers).reshape(-1)
        check_integers(who, argument, rows)
        if len(rows) != len(like):
            refuse(
                who, f"{argument} must be one for each of the {len(like)} images", describe(rows)
            )
        rows = (rows if has_float64(rows.device) else rows.cpu()).long()
        remedy = "make the pacer with the right num"
        check_inside(who, f"{rule} in 0..{len(values) - 1}", rows, len(values), remedy)
        return send(send(values, rows.device)[rows], like.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Paced":
        return self  # a number of its own would silently stay where it is

    def __repr__(self) -> str:
        return repr(AUTO)


def check_strength(who: str, paceable: Paceable, value: Any) -> Checked | Paced:
    """Return what `check_each` does, a law as it is, "auto" as what a pacer sets."""
    if isinstance(value, str) and value == AUTO:
        return Paced()
    strength: Checked = value if isinstance(value, Law) else check_each(who, paceable.name, value)
    numbers = strength if isinstance(strength, tuple) else (strength,)
    tops = [each.most if isinstance(each, Law) else each for each in numbers]
    most = max((each for each in tops if isinstance(each, int | float)), default=0.0)
    if most > paceable.limit:
        refuse(who, f"{paceable.name} must be at most {paceable.limit:g}", value)
    return strength


def _make_shared(shape: tuple[int, ...]) -> Tensor:
    """Return no number yet, in memory that loader workers see."""
    values = torch.full(shape, math.nan, dtype=torch.float64)
    values.share_memory_()  # type: ignore[no-untyped-call]
    return values
