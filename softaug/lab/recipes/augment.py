"""The crops that a recipe can have: shifted frames for small images, windows for photographs."""

from dataclasses import dataclass
from typing import Literal

from softaug.checks import (
    check_choice,
    check_positive,
    check_range,
    check_share,
    check_switch,
    check_whole,
    refuse,
)
from softaug.transforms.resized_crop import OFFSETS, RELATIVE_TO
from softaug.transforms.strength import BY
from softaug.transforms.windows import SHARES

FILLS = ("data-mean", "image-mean", "black")
WHO = "augment.crop"


def check_softening(who: str, k: float | None) -> None:
    """Refuse what is no softening curve."""
    if k is not None:
        check_positive(who, "k", k)


@dataclass(frozen=True)
class UniformOffsets:
    """The usual crop: whole offsets drawn evenly from -max_shift..max_shift."""

    max_shift: int = 4
    """largest offset in pixels; 0 is no crop"""
    k: float | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what enters the frame"""

    def __post_init__(self) -> None:
        check_whole(WHO, "max_shift", self.max_shift, least=0)
        check_softening(WHO, self.k)
        check_choice(WHO, "fill", self.fill, FILLS)


@dataclass(frozen=True)
class NormalOffsets:
    """The paper's crop: offsets from a normal distribution."""

    sigma: float = 0.3
    """standard deviation of the offsets, in image edges"""
    k: float | None = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone; None leaves them
    whole"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what enters the frame"""

    def __post_init__(self) -> None:
        check_positive(WHO, "sigma", self.sigma)
        check_softening(WHO, self.k)
        check_choice(WHO, "fill", self.fill, FILLS)


@dataclass(frozen=True)
class UniformWindows:
    """The usual crop of photographs: a window of random area and shape, resized to data.size."""

    scale: tuple[float, float] = (0.08, 1.0)
    """least and largest share of the image's area"""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """least and largest width by height"""
    k: float | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    antialias: bool = True
    """smooth what is made smaller"""

    def __post_init__(self) -> None:
        check_range(WHO, "scale", self.scale, most=1.0)
        check_range(WHO, "ratio", self.ratio)
        check_softening(WHO, self.k)
        check_switch(WHO, "antialias", self.antialias)


@dataclass(frozen=True)
class NormalWindows:
    """The paper's crop of photographs: a window of normal size and place, resized to data.size."""

    sigma: float = 0.3
    """spread of the window's size and of its place"""
    k: float | None = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone; None leaves them
    whole"""
    min_size: int | None = None
    """the smallest window has this many of the data.size pixels of an edge; None is half"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what is seen where the window leaves the image"""
    antialias: bool = True
    """smooth what is made smaller"""
    offsets: Literal["half", "literal"] = "half"
    """literal is the paper's formula, twice what its own rule of three sigma asks for"""
    relative_to: Literal["edges", "short-edge", "pixels"] = "edges"
    """what windows are cut down from: each edge, the short one for both, or each to min_size
    pixels"""
    share_of: Literal["image", "window"] = "image"
    """visible is this share of the image's area, or of the window's"""

    def __post_init__(self) -> None:
        check_positive(WHO, "sigma", self.sigma)
        check_softening(WHO, self.k)
        if self.min_size is not None:
            check_whole(WHO, "min_size", self.min_size, least=1)
        check_choice(WHO, "fill", self.fill, FILLS)
        check_switch(WHO, "antialias", self.antialias)
        check_choice(WHO, "offsets", self.offsets, tuple(OFFSETS))
        check_choice(WHO, "relative_to", self.relative_to, RELATIVE_TO)
        check_choice(WHO, "share_of", self.share_of, SHARES)


Crop = UniformOffsets | NormalOffsets | UniformWindows | NormalWindows
WINDOWS = (UniformWindows, NormalWindows)


RULES = ("none", "accuracy-hold", "accuracy-line", "held-out-gap", "confidence-match")
TO_GOAL = ("accuracy-line", "confidence-match")
TO_PARTS = ("accuracy-hold", "accuracy-line", "confidence-match")
TO_K = ("confidence-match",)
WHO_PACE = "augment.pace"


@dataclass(frozen=True)
class Pace:
    """The crop's sigma is set anew after each epoch; the recipe's is that of the first."""

    rule: Literal["none", "accuracy-hold", "accuracy-line", "held-out-gap", "confidence-match"] = (
        "none"
    )
    """sigma rises after an epoch with: accuracy on augmented images above what it was half way, or
    above a line over the epochs; accuracy on them above that on clean held-out images; true
    classes given more than a growing share of what targets ask; with less it falls. none leaves
    it as it is"""
    since: float | None = None
    """share of the epochs after which accuracy-hold holds accuracy; None is 0.5, but no later
    than the 20th epoch"""
    goal: float | None = None
    """where the line of accuracy, or the share of what targets ask, ends; None is 0.95"""
    held_out: int = 0
    """training images that are not trained on, for held-out-gap"""
    find_k: bool = False
    """the crop's k follows the accuracy on what is visible, by like steps; for
    confidence-match"""
    by: Literal["all", "class", "sample"] = "all"
    """classes, or training images, that are ahead of all together get up to twice the overall
    sigma, those behind down to half of it; not for held-out-gap"""
    factor: float = 1.3
    """of one change of sigma"""
    settle: float | None = None
    """share of the epochs, the last ones, with half of the sigma that was reached, but no less than
    least; None is 0.1, but no more than 4 epochs"""
    least: float = 0.05
    """smallest sigma"""
    most: float = 0.3
    """largest sigma"""

    def __post_init__(self) -> None:
        check_choice(WHO_PACE, "rule", self.rule, RULES)
        for name, share in {"since": self.since, "goal": self.goal, "settle": self.settle}.items():
            if share is not None:
                check_share(WHO_PACE, name, share)
        check_choice(WHO_PACE, "by", self.by, BY)
        check_whole(WHO_PACE, "held_out", self.held_out, least=0)
        check_switch(WHO_PACE, "find_k", self.find_k)
        check_range(WHO_PACE, "(least, most)", (self.least, self.most))
        if check_positive(WHO_PACE, "factor", self.factor) <= 1:
            refuse(WHO_PACE, "factor must be above 1", self.factor)
        _check_for_rule(self)

    @property
    def on(self) -> bool:
        """Whether anything is paced."""
        return self.rule != "none"


def _check_for_rule(pace: Pace) -> None:
    """Refuse settings that the rule would not use, and want those that it needs."""
    if pace.rule == "held-out-gap" and not pace.held_out:
        remedy = "such as 500; they are not trained on"
        refuse(WHO_PACE, "held_out must be above 0 for held-out-gap", 0, remedy)
    if pace.rule != "held-out-gap" and pace.held_out:
        refuse(WHO_PACE, "held_out is for held-out-gap", f"{pace.held_out} with {pace.rule}")
    if pace.rule not in TO_GOAL and pace.goal is not None:
        refuse(WHO_PACE, f"goal is for {', '.join(TO_GOAL)}", f"{pace.goal:g} with {pace.rule}")
    if pace.rule != "accuracy-hold" and pace.since is not None:
        refuse(WHO_PACE, "since is for accuracy-hold", f"{pace.since:g} with {pace.rule}")
    if pace.rule not in TO_PARTS and pace.by != "all":
        rule = f'by "{pace.by}" is for {", ".join(TO_PARTS)}'
        refuse(WHO_PACE, rule, pace.rule, "choose one of them, or by all")
    if pace.rule not in TO_K and pace.find_k:
        refuse(WHO_PACE, f"find_k is for {', '.join(TO_K)}", f"it with {pace.rule}")


def check_paced(pace: Pace, crop: Crop, scheduled: set[str]) -> None:
    """Refuse a crop without a sigma to set, and schedules of what is set."""
    if not pace.on:
        return
    if not isinstance(crop, NormalOffsets | NormalWindows):
        remedy = "begin from a soft recipe"
        refuse(WHO_PACE, "the crop must have a sigma", type(crop).__name__, remedy)
    if not pace.least <= crop.sigma <= pace.most:
        rule = f"the crop's sigma must be in {pace.least:g}..{pace.most:g} at first"
        refuse(WHO_PACE, rule, crop.sigma, "change augment.crop.sigma, or least and most")
    if pace.find_k and crop.k is None:
        refuse(WHO_PACE, "the crop must have a k to begin with for find_k", None)
    twice = scheduled & ({"crop.sigma", "crop.k"} if pace.find_k else {"crop.sigma"})
    if twice:
        remedy = "leave one of them out"
        refuse(WHO_PACE, "what is paced must have no schedule", ", ".join(sorted(twice)), remedy)
