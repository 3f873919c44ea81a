"""What a training run is: everything its numbers depend on, except the code.

A `Recipe` is frozen: a row of a table is its parent plus one change (`dataclasses.replace`).
Where a run is put and on what machine it runs is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from softaug.checks import check_choice, check_positive, check_share, check_whole, describe, refuse
from softaug.data.load import check_name
from softaug.losses import SOFTEN
from softaug.models.registry import check_known
from softaug.weighting import WEIGHTINGS

FILLS = ("data-mean", "image-mean", "black")
POLICIES = ("none", "randaugment", "trivialaugment")
STEPS = ("policy", "flip", "crop")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class DataSpec:
    """Which images are trained and measured on."""

    name: str = "cifar100"
    """cifar10, cifar100, digits, or folder:PATH (PATH/train/CLASS/*.jpg, PATH/val/CLASS/*.jpg)"""
    labels: Literal["fine", "coarse"] = "fine"
    """CIFAR-100 has coarse labels too: 20 groups of 5 classes"""
    per_class: int | None = None
    """train on this many images of each class, drawn by `seed`; None is all"""
    validation: int = 0
    """hold out this many training images and measure on them, not on the test set"""
    seed: int = 0
    """draws the subset and what is held out"""
    size: int = 224
    """edge of a folder's images: the short edge is resized to it, the centre is kept"""

    def __post_init__(self) -> None:
        check_name("data", self.name)
        check_choice("data", "labels", self.labels, ("fine", "coarse"))
        if self.labels == "coarse" and self.name != "cifar100":
            refuse("data", 'labels "coarse" are for cifar100 only', self.name)
        if self.per_class is not None:
            check_whole("data", "per_class", self.per_class, least=1)
        check_whole("data", "validation", self.validation, least=0)
        check_whole("data", "seed", self.seed, least=0)
        check_whole("data", "size", self.size, least=8)


@dataclass(frozen=True)
class UniformOffsets:
    """The usual crop: whole offsets drawn evenly from -reach..reach."""

    reach: int = 4
    """largest offset in pixels; 0 is no crop"""
    k: float = 2.0
    """softening curve, for a loss that softens"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what enters the frame"""

    def __post_init__(self) -> None:
        check_whole("augment.crop", "reach", self.reach, least=0)
        _check_crop(self.k, self.fill)


@dataclass(frozen=True)
class NormalOffsets:
    """The paper's crop: offsets from a normal distribution."""

    sigma: float = 0.3
    """standard deviation of the offsets, in image edges"""
    k: float = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """what enters the frame"""

    def __post_init__(self) -> None:
        check_positive("augment.crop", "sigma", self.sigma)
        _check_crop(self.k, self.fill)


def _check_crop(k: float, fill: str) -> None:
    check_positive("augment.crop", "k", k)
    check_choice("augment.crop", "fill", fill, FILLS)


@dataclass(frozen=True)
class Augment:
    """What happens to a training image."""

    crop: UniformOffsets | NormalOffsets = UniformOffsets()
    policy: Literal["none", "randaugment", "trivialaugment"] = "none"
    """torchvision's own, with its defaults"""
    flip: bool = True
    """left and right are swapped for every other image"""
    order: tuple[Literal["flip", "crop", "policy"], ...] = STEPS  # type: ignore[assignment]
    """which comes first: one order for all arms (the release applies a policy before a soft crop
    and after a hard one)"""
    schedules: tuple[tuple[str, float, float], ...] = ()
    """(setting, factor, share): the setting is multiplied by the factor in the last share of the
    epochs, e.g. crop.sigma 0.001 0.04"""

    def __post_init__(self) -> None:
        if not isinstance(self.crop, UniformOffsets | NormalOffsets):
            rule = "crop must be UniformOffsets or NormalOffsets"
            refuse("augment", rule, describe(self.crop), "UniformOffsets(0) is no crop")
        if not isinstance(self.flip, bool):
            refuse("augment", "flip must be True or False", describe(self.flip))
        check_choice("augment", "policy", self.policy, POLICIES)
        if sorted(self.order) != sorted(STEPS):
            refuse("augment", f"order must hold each of {', '.join(STEPS)} once", self.order)
        for setting, factor, share in self.schedules:
            check_positive("augment.schedules", "factor", factor)
            check_share("augment.schedules", "share", share)
            check_choice("augment.schedules", "setting", setting, self.numbers())

    def numbers(self) -> tuple[str, ...]:
        """The settings that a schedule can change."""
        found = [f"crop.{name}" for name, value in vars(self.crop).items() if _is_number(value)]
        return tuple(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class LossSpec:
    """How labels soften with what the augmentation left."""

    soften: Literal["none", "target", "weight", "both"] = "none"
    """none is hard augmentation"""
    weighting: Literal["sample", "batch_mean", "normalised"] = "sample"
    """how weights enter a batch: the equation's way, the release's, or scaled to mean 1"""
    label_smoothing: float = 0.0
    """the paper's alpha: what the other classes get of an unsoftened label"""

    def __post_init__(self) -> None:
        check_choice("loss", "soften", self.soften, SOFTEN)
        check_choice("loss", "weighting", self.weighting, WEIGHTINGS)
        check_share("loss", "label_smoothing", self.label_smoothing)


@dataclass(frozen=True)
class Optim:
    """SGD with Nesterov momentum; the learning rate falls to 0 by a cosine of the steps."""

    lr: float = 0.1
    """learning rate after the warm-up"""
    momentum: float = 0.9
    weight_decay: float = 5e-4
    warmup_epochs: float = 0.0
    """the learning rate rises linearly over these"""
    clip_norm: float | None = None
    """longest gradient; None is no limit"""
    ema: float | None = None
    """decay of an average of the weights, which is then what is measured; None is none"""

    def __post_init__(self) -> None:
        check_positive("optim", "lr", self.lr)
        for name in ("momentum", "weight_decay", "warmup_epochs"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 <= value < float("inf"):
                refuse("optim", f"{name} must be a number >= 0", value)
        if self.momentum >= 1:
            refuse("optim", "momentum must be below 1", self.momentum)
        if self.clip_norm is not None:
            check_positive("optim", "clip_norm", self.clip_norm)
        if self.ema is not None and not (_is_number(self.ema) and 0 < self.ema < 1):
            refuse("optim", "ema must be above 0 and below 1", self.ema)


@dataclass(frozen=True)
class Compute:
    """How the network is computed: it changes the speed and the last bits."""

    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """below float32, autocast"""
    channels_last: bool = True
    """memory layout of images and weights"""
    compile: bool = False
    """torch.compile"""
    deterministic: bool = True
    """on a GPU: cuDNN kernels that give the same bits every time, which are slower"""

    def __post_init__(self) -> None:
        check_choice("compute", "precision", self.precision, PRECISIONS)


@dataclass(frozen=True)
class Recipe:
    """A training run."""

    name: str
    """how the run is called"""
    model: str
    """a name that softaug.models.create knows, or timm:NAME"""
    data: DataSpec = field(default_factory=DataSpec)
    augment: Augment = field(default_factory=Augment)
    loss: LossSpec = field(default_factory=LossSpec)
    optim: Optim = field(default_factory=Optim)
    compute: Compute = field(default_factory=Compute)
    epochs: int = 500
    """passes over the training images"""
    batch: int = 128
    """images in a step, over all processes"""
    seed: int = 0
    """initial weights, order and draws"""

    def __post_init__(self) -> None:
        if not self.name or Path(self.name).name != self.name or self.name.startswith("."):
            refuse("recipe", "name must be a word that can name a folder", repr(self.name))
        check_known("recipe", "model", self.model)
        check_whole("recipe", "epochs", self.epochs, least=1)
        check_whole("recipe", "batch", self.batch, least=1)
        check_whole("recipe", "seed", self.seed, least=0)
        if self.optim.warmup_epochs >= self.epochs:
            rule = f"optim.warmup_epochs must be below the {self.epochs} epochs"
            refuse("recipe", rule, self.optim.warmup_epochs)
