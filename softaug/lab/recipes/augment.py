"""What happens to a training image: crop, policy, flip, noise, cutout, and how the crop paces.

Images in memory are cropped by offsets, photographs by windows. A new transform is a class here, a
field of `Augment` and a step of `STEPS`.
"""

from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar, Literal, get_args

from softaug.checks import (
    check_choice,
    check_not_negative,
    check_positive,
    check_range,
    check_share,
    describe,
    refuse,
)
from softaug.lab.recipes.fields import (
    Bounds,
    Count,
    Fill,
    NotNegative,
    Positive,
    Share,
    Shares,
    Spec,
    Whole,
    is_number,
)

Step = Literal["policy", "flip", "crop", "noise", "cutout"]
STEPS: tuple[Step, ...] = get_args(Step)
WINDOWS_FIRST: tuple[Step, ...] = ("crop", "policy", "flip", "noise", "cutout")
MIX_ALPHA = "mix.alpha"  # the one setting of a schedule that is not of the augmentation
WITH_CURVES = ("randaugment", "trivialaugment")


@dataclass(frozen=True)
class UniformOffsets(Spec):
    """The usual crop: whole offsets drawn evenly from -max_shift..max_shift."""

    who: ClassVar[str] = "augment.crop"

    max_shift: Whole = 4
    """largest offset in pixels; 0 is no crop"""
    k: Positive | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Fill = "data-mean"
    """what enters the frame"""


@dataclass(frozen=True)
class NormalOffsets(Spec):
    """The paper's crop: offsets from a normal distribution."""

    who: ClassVar[str] = "augment.crop"

    sigma: NotNegative = 0.3
    """standard deviation of the offsets, in image edges; 0 is no crop"""
    k: Positive | None = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone; None leaves them
    whole"""
    fill: Fill = "data-mean"
    """what enters the frame"""


@dataclass(frozen=True)
class UniformWindows(Spec):
    """The usual crop of photographs: a window of random area and shape, resized to data.size."""

    who: ClassVar[str] = "augment.crop"

    scale: Shares = (0.08, 1.0)
    """least and largest share of the image's area"""
    ratio: Bounds = (3 / 4, 4 / 3)
    """least and largest width by height"""
    k: Positive | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    antialias: bool = True
    """smooth what is made smaller"""


@dataclass(frozen=True)
class NormalWindows(Spec):
    """The paper's crop of photographs: a window of normal size and position, resized."""

    who: ClassVar[str] = "augment.crop"

    sigma: NotNegative = 0.3
    """spread of the window's size and of its position; 0 is the whole image"""
    k: Positive | None = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone; None leaves them
    whole"""
    min_size: Count | None = None
    """the smallest window has this many of the data.size pixels of an edge; None is half"""
    fill: Fill = "data-mean"
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


Crop = UniformOffsets | NormalOffsets | UniformWindows | NormalWindows
WINDOWS = (UniformWindows, NormalWindows)


@dataclass(frozen=True)
class SigmaLaw(Spec):
    """How the crop's sigma is drawn for each image."""

    who: ClassVar[str] = "augment.law"

    kind: Literal["fixed", "uniform", "mixture"] = "fixed"
    """the crop's sigma for every image; uniform up to it; or it for a share of the images, and a
    milder one for the others"""
    share: Share = 0.5
    """mixture: share of the images, or of each image's views, with the crop's sigma"""
    mild: Share = 0.2
    """mixture: what the others have, as a share of the crop's sigma"""

    def check_crop(self, crop: Crop, views: int) -> None:
        """Refuse a law of what is not there."""
        if self.kind != "fixed" and not isinstance(crop, NormalOffsets | NormalWindows):
            remedy = "begin from a soft recipe"
            refuse(self.who, "the crop must have a sigma", type(crop).__name__, remedy)
        if self.kind != "mixture" and (self.share, self.mild) != (0.5, 0.2):
            got = f"{self.share:g} and {self.mild:g} with {self.kind}"
            refuse(self.who, "share and mild are for mixture", got)
        if self.kind == "mixture" and views > 1 and self.share * views % 1:
            rule = f"share of an image's {views} views must be a whole number of them"
            refuse(self.who, rule, self.share)


def check_factors(who: str, name: str, values: object) -> None:
    """Refuse what is no tuple of numbers above 0."""
    if not isinstance(values, tuple):
        refuse(who, f"{name} must be a tuple with a factor for each class", describe(values))
    for label, factor in enumerate(values):
        check_positive(who, f"{name}[{label}]", factor)


Factor = Annotated[tuple[float, ...], check_factors]


@dataclass(frozen=True)
class Factors(Spec):
    """Eq. 11: the crop's sigma and k times a factor for each class, or for each training image."""

    who: ClassVar[str] = "augment.factors"

    sigma: Factor = ()
    """of sigma, one for each class; none leaves it as it is"""
    k: Factor = ()
    """of k, one for each class; none leaves it as it is"""
    samples: str | None = None
    """a JSON file {"sigma": [...], "k": [...]} with more factors, one for each training image"""

    @property
    def on(self) -> bool:
        """Whether anything differs between images."""
        return bool(self.sigma or self.k or self.samples)

    def check_crop(self, crop: Crop) -> None:
        """Refuse factors of what is not there."""
        if self.on and not isinstance(crop, NormalOffsets | NormalWindows):
            remedy = "begin from a soft recipe"
            refuse(self.who, "the crop must have a sigma", type(crop).__name__, remedy)
        if self.on and crop.k is None:
            refuse(self.who, "the crop must have a k", None)


@dataclass(frozen=True)
class Noise(Spec):
    """The paper's additive noise: alpha times normal pixels, alpha normal for each image."""

    who: ClassVar[str] = "augment.noise"

    sigma: NotNegative = 0.0
    """standard deviation of alpha, 0.1 in the paper; 0 is no noise"""
    noise_sd: Positive = 0.1
    """standard deviation of the pixels, in full ranges of the image"""
    k: Positive | None = 1.0
    """softening curve, for a loss that softens; None leaves labels whole"""


@dataclass(frozen=True)
class Cutout(Spec):
    """A square centered anywhere is erased."""

    who: ClassVar[str] = "augment.cutout"

    length: Whole = 0
    """its edge in pixels; 0 is no square"""
    k: Positive | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Fill = "data-mean"
    """its color"""


@dataclass(frozen=True)
class Erase(Spec):
    """Random erasing: a rectangle of random size and shape, wholly inside the image."""

    who: ClassVar[str] = "augment.erase"

    p: Share = 0.0
    """share of the images that lose one; 0 is none"""
    area: Shares = (0.02, 0.33)
    """least and largest share of the image's area"""
    k: Positive | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Fill = "data-mean"
    """its color"""


# The settings of a pace that only some of its rules use, and these rules.
_OF_RULES = {
    "goal": ("confidence-match",),
    "since": ("accuracy-hold",),
    "by": ("accuracy-hold", "confidence-match"),
    "find_k": ("confidence-match",),
}


@dataclass(frozen=True)
class Pace(Spec):
    """The crop's sigma is set anew after each epoch; the recipe's is that of the first."""

    who: ClassVar[str] = "augment.pace"

    rule: Literal["none", "accuracy-hold", "confidence-match"] = "none"
    """sigma rises after an epoch with: accuracy on augmented images above what it was half way;
    true classes given more than a growing share of what targets ask; with less it falls. none
    leaves it as it is"""
    since: Share | None = None
    """share of the epochs after which accuracy-hold holds accuracy; None is 0.5, but no later
    than the 20th epoch"""
    goal: Share | None = None
    """where the share of what targets ask ends, for confidence-match; None is 0.95"""
    find_k: bool = False
    """the crop's k follows the accuracy on what is visible, by like steps; for
    confidence-match"""
    by: Literal["all", "class", "sample"] = "all"
    """classes, or training images, that are ahead of all together get up to twice the overall
    sigma, those behind down to half of it"""
    factor: Positive = 1.3
    """of one change of sigma"""
    settle: Share | None = None
    """share of the epochs, the last ones, with half of the sigma that was reached, but no less than
    least; None is 0.1, but no more than 4 epochs"""
    least: float = 0.05
    """smallest sigma"""
    most: float = 0.3
    """largest sigma"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.who, "(least, most)", (self.least, self.most))
        if self.factor <= 1:
            refuse(self.who, "factor must be above 1", self.factor)
        defaults = {each.name: each.default for each in fields(self)}
        for name, rules in _OF_RULES.items():
            value = getattr(self, name)
            if value != defaults[name] and self.rule not in rules:
                got = f"{value:g}" if is_number(value) else value
                rule = f"{name} is for {', '.join(rules)}"
                refuse(self.who, rule, f"{got} with {self.rule}", "choose one of them")

    @property
    def on(self) -> bool:
        """Whether anything is paced."""
        return self.rule != "none"

    def check_crop(self, crop: Crop, scheduled: set[str]) -> None:
        """Refuse a crop without a sigma to set, and schedules of what is set."""
        if not self.on:
            return
        if not isinstance(crop, NormalOffsets | NormalWindows):
            remedy = "begin from a soft recipe"
            refuse(self.who, "the crop must have a sigma", type(crop).__name__, remedy)
        if not self.least <= crop.sigma <= self.most:
            rule = f"the crop's sigma must be in {self.least:g}..{self.most:g} at first"
            refuse(self.who, rule, crop.sigma, "change augment.crop.sigma, or least and most")
        if self.find_k and crop.k is None:
            refuse(self.who, "the crop must have a k to begin with for find_k", None)
        twice = scheduled & ({"crop.sigma", "crop.k"} if self.find_k else {"crop.sigma"})
        if twice:
            rule, remedy = "what is paced must have no schedule", "leave one of them out"
            refuse(self.who, rule, ", ".join(sorted(twice)), remedy)


@dataclass(frozen=True)
class Augment(Spec):
    """What happens to a training image."""

    who: ClassVar[str] = "augment"

    crop: Crop = field(default_factory=UniformOffsets)
    law: SigmaLaw = SigmaLaw()
    factors: Factors = Factors()
    policy: Literal["none", "randaugment", "trivialaugment", "autoaugment"] = "none"
    """torchvision's own, with its defaults; it leaves labels whole"""
    curves: str | None = None
    """have the policy soften labels by what its operations leave: naive, cifar100 (fitted), or a
    curves.json"""
    noise: Noise = Noise()
    cutout: Cutout = Cutout()
    erase: Erase = Erase()
    """instead of cutout, at its step of the order"""
    flip: bool = True
    """left and right are swapped for every other image"""
    alternate_flip: bool = False
    """flipped is what was not in the epoch before, so that two epochs show every image both ways"""
    order: tuple[Step, ...] = STEPS
    """which comes first: one order for all arms (the release applies a policy before a soft crop
    and after a hard one); windows come first, so that only what is seen is decoded"""
    schedules: tuple[tuple[str, float, float], ...] = ()
    """(setting, factor, share): the setting is multiplied by the factor in the last share of the
    epochs, e.g. crop.sigma 0.001 0.04 or mix.alpha 0 0.04; a factor of 0 turns it off"""
    pace: Pace = field(default_factory=Pace)
    views: Count = 1
    """views of each image in a batch, which has fewer images by as much; an epoch keeps its steps.
    With law mixture the last views of each image are far"""
    batchnorm_sigma: NotNegative | None = None
    """after the last step BatchNorm's statistics become those of training images cropped at this
    sigma (0: whole), as `softaug.batchnorm` does it; None keeps those of training"""

    def __post_init__(self) -> None:
        if not isinstance(self.crop, Crop):
            rule = f"crop must be {' or '.join(kind.__name__ for kind in get_args(Crop))}"
            refuse(self.who, rule, describe(self.crop), "UniformOffsets(0) is no crop")
        super().__post_init__()
        if self.curves is not None and self.policy not in WITH_CURVES:
            rule = f"curves are for policy {' or '.join(WITH_CURVES)}"
            refuse(self.who, rule, f"{self.curves!r} with policy {self.policy}")
        if self.alternate_flip and not self.flip:
            refuse(self.who, "alternate_flip is for flip", "flip False", "leave it out")
        if sorted(self.order) != sorted(STEPS):
            refuse(self.who, f"order must hold each of {', '.join(STEPS)} once", self.order)
        if isinstance(self.crop, WINDOWS) and self.order[0] != "crop":
            remedy = "only what a window shows is decoded"
            refuse(self.who, "order must begin with crop for windows", self.order, remedy)
        for setting, factor, share in self.schedules:
            check_not_negative("augment.schedules", "factor", factor)
            check_share("augment.schedules", "share", share)
            check_choice("augment.schedules", "setting", setting, (*self.numbers(), MIX_ALPHA))
        self.pace.check_crop(self.crop, {setting for setting, *_ in self.schedules})
        if self.cutout.length and self.erase.p:
            refuse(self.who, "one of cutout and erase must be off", "both")
        if self.views > 1 and self.pace.by != "all":
            rule = "views must be 1 for a pace by class or sample"
            refuse(self.who, rule, f"{self.views} by {self.pace.by}")
        if self.pace.on and self.law.kind != "fixed":
            refuse(self.who, "the law of what is paced must be fixed", self.law.kind)
        self.law.check_crop(self.crop, self.views)
        self.factors.check_crop(self.crop)
        if self.factors.on and (self.pace.on or self.law.kind != "fixed"):
            rule = "factors are for a sigma without a law or a pace"
            refuse(self.who, rule, f"law {self.law.kind}, pace {self.pace.rule}")

    def numbers(self) -> tuple[str, ...]:
        """Return the settings that a schedule can change."""
        parts = {name: getattr(self, name) for name in ("crop", "noise", "cutout", "erase")}
        return tuple(
            f"{part}.{name}"
            for part, settings in parts.items()
            for name, value in vars(settings).items()
            if is_number(value)
        )
