"""The crops that a recipe can have: shifted frames for small images, windows for photographs."""

from dataclasses import dataclass
from typing import Literal

from softaug.checks import check_choice, check_positive, check_range, check_switch, check_whole
from softaug.transforms.resized_crop import OFFSETS, RELATIVE_TO
from softaug.transforms.windows import SHARES

FILLS = ("data-mean", "image-mean", "black")
WHO = "augment.crop"


def check_softening(who: str, k: float | None) -> None:
    """Refuse what is no softening curve."""
    if k is not None:
        check_positive(who, "k", k)


@dataclass(frozen=True)
class UniformOffsets:
    """The usual crop: whole offsets drawn evenly from -reach..reach."""

    reach: int = 4
    """largest offset in pixels; 0 is no crop"""
    k: float | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what enters the frame"""

    def __post_init__(self) -> None:
        check_whole(WHO, "reach", self.reach, least=0)
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
