"""What a training run is: everything its numbers depend on, except the code.

A `Recipe` is frozen: a row of a table is its parent plus one change (`dataclasses.replace`).
Where a run is put and on what machine it runs is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol, get_args

from softaug.checks import (
    check_choice,
    check_positive,
    check_range,
    check_share,
    check_switch,
    check_whole,
    describe,
    refuse,
)
from softaug.lab.data.folder import UNREADABLE
from softaug.lab.data.load import check_name, is_files
from softaug.lab.models.registry import check_known
from softaug.lab.recipes.augment import (
    FILLS,
    WINDOWS,
    Crop,
    Pace,
    UniformOffsets,
    check_paced,
    check_softening,
)
from softaug.losses import SOFTEN
from softaug.pair_weights import MODES
from softaug.softening import WEIGHTINGS

POLICIES = ("none", "randaugment", "trivialaugment", "autoaugment")
WITH_CURVES = ("randaugment", "trivialaugment")
Step = Literal["policy", "flip", "crop", "noise", "cutout"]
STEPS: tuple[Step, ...] = ("policy", "flip", "crop", "noise", "cutout")
WINDOWS_FIRST: tuple[Step, ...] = ("crop", "policy", "flip", "noise", "cutout")
MIXINGS = ("none", "mixup", "cutmix", "manifold-mixup")
PRECISIONS = ("float32", "bfloat16", "float16")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_not_negative(who: str, name: str, value: float) -> None:
    """Refuse what is no finite number of at least 0."""
    if not (_is_number(value) and 0 <= value < float("inf")):
        refuse(who, f"{name} must be a number >= 0", value)


@dataclass(frozen=True)
class DataSpec:
    """Which images are trained and measured on."""

    name: str = "cifar100"
    """cifar10, cifar100, fashion-mnist, imagenet, imagenette, digits, or folder:PATH
    (PATH/train/CLASS/*.jpg, PATH/val/CLASS/*.jpg)"""
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
    resize: int | None = None
    """short edge of a folder's images before the centre is kept, if not `size`; training windows
    are cut from the images as they are"""
    unreadable: Literal["refuse", "skip"] = "refuse"
    """a training file that cannot be decoded ends the run, or is named and left out"""

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
        check_choice("data", "unreadable", self.unreadable, UNREADABLE)
        _check_files(self)


def _check_files(data: DataSpec) -> None:
    if data.resize is not None:
        check_whole("data", "resize", data.resize, least=data.size)
    given = {"resize": data.resize is not None, "unreadable": data.unreadable != "refuse"}
    for name, changed in given.items():
        if changed and not is_files(data.name):
            refuse("data", f"{name} is for images in folders", data.name)


@dataclass(frozen=True)
class Noise:
    """The paper's additive noise: alpha times normal pixels, alpha normal for each image."""

    sigma: float = 0.0
    """standard deviation of alpha, 0.1 in the paper; 0 is no noise"""
    noise_sd: float = 0.1
    """standard deviation of the pixels, in full ranges of the image"""
    k: float | None = 1.0
    """softening curve, for a loss that softens; None leaves labels whole"""

    def __post_init__(self) -> None:
        check_not_negative("augment.noise", "sigma", self.sigma)
        check_positive("augment.noise", "noise_sd", self.noise_sd)
        check_softening("augment.noise", self.k)


@dataclass(frozen=True)
class Cutout:
    """A square centred anywhere is erased."""

    length: int = 0
    """its edge in pixels; 0 is no square"""
    k: float | None = 2.0
    """softening curve, for a loss that softens; None leaves labels whole"""
    fill: Literal["data-mean", "image-mean", "black"] = "data-mean"
    """its colour"""

    def __post_init__(self) -> None:
        check_whole("augment.cutout", "length", self.length, least=0)
        check_softening("augment.cutout", self.k)
        check_choice("augment.cutout", "fill", self.fill, FILLS)


@dataclass(frozen=True)
class Augment:
    """What happens to a training image."""

    crop: Crop = field(default_factory=UniformOffsets)
    policy: Literal["none", "randaugment", "trivialaugment", "autoaugment"] = "none"
    """torchvision's own, with its defaults; it leaves labels whole"""
    curves: str | None = None
    """have the policy soften labels by what its operations leave: naive, cifar100 (fitted), or a
    curves.json"""
    noise: Noise = Noise()
    cutout: Cutout = Cutout()
    flip: bool = True
    """left and right are swapped for every other image"""
    order: tuple[Step, ...] = STEPS
    """which comes first: one order for all arms (the release applies a policy before a soft crop
    and after a hard one); windows come first, so that only what is seen is decoded"""
    schedules: tuple[tuple[str, float, float], ...] = ()
    """(setting, factor, share): the setting is multiplied by the factor in the last share of the
    epochs, e.g. crop.sigma 0.001 0.04"""
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        if not isinstance(self.crop, Crop):
            rule = f"crop must be {' or '.join(kind.__name__ for kind in get_args(Crop))}"
            refuse("augment", rule, describe(self.crop), "UniformOffsets(0) is no crop")
        check_switch("augment", "flip", self.flip)
        check_choice("augment", "policy", self.policy, POLICIES)
        _check_curves(self.policy, self.curves)
        if sorted(self.order) != sorted(STEPS):
            refuse("augment", f"order must hold each of {', '.join(STEPS)} once", self.order)
        if isinstance(self.crop, WINDOWS) and self.order[0] != "crop":
            remedy = "only what a window shows is decoded"
            refuse("augment", "order must begin with crop for windows", self.order, remedy)
        for setting, factor, share in self.schedules:
            check_positive("augment.schedules", "factor", factor)
            check_share("augment.schedules", "share", share)
            check_choice("augment.schedules", "setting", setting, self.numbers())
        check_paced(self.pace, self.crop, {setting for setting, *_ in self.schedules})

    def numbers(self) -> tuple[str, ...]:
        """The settings that a schedule can change."""
        parts = {"crop": self.crop, "noise": self.noise, "cutout": self.cutout}
        return tuple(
            f"{part}.{name}"
            for part, settings in parts.items()
            for name, value in vars(settings).items()
            if _is_number(value)
        )


def _check_curves(policy: str, curves: str | None) -> None:
    if curves is not None and policy not in WITH_CURVES:
        rule = f"curves are for policy {' or '.join(WITH_CURVES)}"
        refuse("augment", rule, f"{curves!r} with policy {policy}")


@dataclass(frozen=True)
class LossSpec:
    """How labels soften with what the augmentation left."""

    soften: Literal["none", "target", "weight", "both"] = "none"
    """none is hard augmentation"""
    weighting: Literal["sample", "batch_mean", "normalized"] = "sample"
    """how weights enter a batch: the equation's way, the release's, or scaled to mean 1"""
    label_smoothing: float = 0.0
    """the paper's alpha: what the other classes get of an unsoftened label"""
    online_smoothing: float = 0.0
    """share of the label that follows what the network answered for its class in the last epoch"""
    focal_gamma: float = 0.0
    """focal loss: weigh down what is answered surely (the paper calls it alpha)"""
    prior: str = "uniform"
    """where the mass of a softened target goes: uniform, coarse (CIFAR-100's groups), or a
    prior.json that `softaug curves confusion` made"""

    def __post_init__(self) -> None:
        check_choice("loss", "soften", self.soften, SOFTEN)
        check_choice("loss", "weighting", self.weighting, WEIGHTINGS)
        check_share("loss", "label_smoothing", self.label_smoothing)
        check_share("loss", "online_smoothing", self.online_smoothing)
        check_not_negative("loss", "focal_gamma", self.focal_gamma)
        if self.prior != "uniform" and self.soften not in ("target", "both"):
            remedy = "soften the target, or leave the prior uniform"
            refuse("loss", "prior is for softened targets", f"soften {self.soften}", remedy)
        if self.label_smoothing and self.online_smoothing:
            rule = "one of label_smoothing and online_smoothing must be 0"
            refuse("loss", rule, f"{self.label_smoothing:g} and {self.online_smoothing:g}")


@dataclass(frozen=True)
class Mix:
    """Two images become one; its label is both of theirs."""

    kind: Literal["none", "mixup", "cutmix", "manifold-mixup"] = "none"
    """mixup blends images, cutmix pastes a box, manifold-mixup blends what a layer makes of them"""
    alpha: float = 1.0
    """shares are drawn from Beta(alpha, alpha), one for each step"""

    def __post_init__(self) -> None:
        check_choice("mix", "kind", self.kind, MIXINGS)
        check_positive("mix", "alpha", self.alpha)


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
            check_not_negative("optim", name, getattr(self, name))
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
    """a name that softaug.lab.models.create knows, or timm:NAME"""
    data: DataSpec = field(default_factory=DataSpec)
    augment: Augment = field(default_factory=Augment)
    mix: Mix = field(default_factory=Mix)
    loss: LossSpec = field(default_factory=LossSpec)
    optim: Optim = field(default_factory=Optim)
    compute: Compute = field(default_factory=Compute)
    epochs: int = 500
    """passes over the training images"""
    batch: int = 128
    """images in a step, over all processes"""
    seed: int = 0
    """initial weights, order and draws"""
    members: int = 1
    """networks of an ensemble, each trained by a seed of its own"""

    def __post_init__(self) -> None:
        check_run(self)
        check_whole("recipe", "members", self.members, least=1)
        _check_together(self)


class EpochPlan(Protocol):
    """What the order of samples depends on: a recipe, or a part of one."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def seed(self) -> int: ...


class AnyRun(EpochPlan, Protocol):
    """What every recipe has, with labels or without."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def optim(self) -> Optim: ...


def check_run(recipe: AnyRun) -> None:
    """Refuse a bad name, model, number of epochs, batch, seed or warm-up."""
    name = recipe.name
    if not name or Path(name).name != name or name.startswith("."):
        refuse("recipe", "name must be a word that can name a folder", repr(name))
    check_known("recipe", "model", recipe.model)
    check_whole("recipe", "epochs", recipe.epochs, least=1)
    check_whole("recipe", "batch", recipe.batch, least=1)
    check_whole("recipe", "seed", recipe.seed, least=0)
    if recipe.optim.warmup_epochs >= recipe.epochs:
        rule = f"optim.warmup_epochs must be below the {recipe.epochs} epochs"
        refuse("recipe", rule, recipe.optim.warmup_epochs)


def _check_together(recipe: Recipe) -> None:
    """Refuse what cannot be had together, with the reason."""
    if recipe.mix.kind == "manifold-mixup" and recipe.compute.compile:
        remedy = "the layer that is mixed changes from step to step"
        refuse("recipe", "compute.compile must be off for manifold-mixup", "on", remedy)
    if isinstance(recipe.augment.crop, WINDOWS) and not is_files(recipe.data.name):
        rule = f"augment.crop {type(recipe.augment.crop).__name__} is for images in folders"
        refuse("recipe", rule, recipe.data.name, "small images are cropped by offsets")
    if recipe.data.unreadable == "skip":
        _check_skipping(recipe)
    pace = recipe.augment.pace
    for setting, given in {"find_k": pace.find_k, 'by "sample"': pace.by == "sample"}.items():
        if given and recipe.mix.kind != "none":
            rule = f"augment.pace.{setting} is for labels of one image"
            refuse("recipe", rule, f"mix {recipe.mix.kind}")


def _check_skipping(recipe: Recipe) -> None:
    rule = 'data.unreadable "skip" is for windows'
    if not isinstance(recipe.augment.crop, WINDOWS):
        refuse("recipe", rule, f"augment.crop {type(recipe.augment.crop).__name__}")
    if recipe.mix.kind in ("mixup", "cutmix"):
        remedy = "remove the files that `softaug data folder:PATH --decode` names"
        refuse("recipe", f"{rule} that are not mixed", recipe.mix.kind, remedy)


@dataclass(frozen=True)
class ViewsSpec:
    """How each of an image's two views is made: SimSiam's way for CIFAR, without blur."""

    scale: tuple[float, float] = (0.2, 1.0)
    """least and largest share of the image's area that a view shows"""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """least and largest width by height of what it shows"""
    jitter: tuple[float, float, float, float] = (0.4, 0.4, 0.4, 0.1)
    """how far brightness, contrast, saturation and hue may change"""
    jitter_p: float = 0.8
    """share of the views whose colours change"""
    grey_p: float = 0.2
    """share of the views that are made grey"""
    flip_p: float = 0.5
    """share of the views whose left and right are swapped"""

    def __post_init__(self) -> None:
        check_range("views", "scale", self.scale, most=1.0)
        check_range("views", "ratio", self.ratio)
        for name in ("jitter_p", "grey_p", "flip_p"):
            check_share("views", name, getattr(self, name))
        if not isinstance(self.jitter, tuple) or len(self.jitter) != 4:
            rule = "jitter must be a tuple of four: brightness, contrast, saturation, hue"
            refuse("views", rule, describe(self.jitter))
        for place, reach in enumerate(self.jitter):
            check_not_negative("views", f"jitter[{place}]", reach)
        if self.jitter[3] > 0.5:
            refuse("views", "jitter[3], of the hue, must be at most 0.5", self.jitter[3])


@dataclass(frozen=True)
class PairSpec:
    """How much each pair of views counts, by the overlap of what they show."""

    mode: Literal["none", "SA1", "SA2"] = "none"
    """SA1 trusts views that overlap, SA2 those that differ; none weighs all alike"""
    k: float = 4.0
    """how sharply the weight falls: only for SA1 and SA2"""
    p_min: float = 0.0
    """weight, before scaling to mean 1, of a pair that is trusted least"""

    def __post_init__(self) -> None:
        check_choice("weight", "mode", self.mode, MODES)
        check_positive("weight", "k", self.k)
        check_share("weight", "p_min", self.p_min)


@dataclass(frozen=True)
class SimSiamSpec:
    """Each view predicts the other's projection."""

    word: ClassVar[str] = "simsiam"

    hidden: int = 2048
    """width of the projector"""
    bottleneck: int = 512
    """width of the predictor's middle"""
    num_layers: int = 3
    """layers of the projector"""
    fixed_predictor_lr: bool = True
    """the predictor keeps the first learning rate to the end, as SimSiam's authors advise"""

    def __post_init__(self) -> None:
        for name in ("hidden", "bottleneck", "num_layers"):
            check_whole("method", name, getattr(self, name), least=1)
        check_switch("method", "fixed_predictor_lr", self.fixed_predictor_lr)


@dataclass(frozen=True)
class BarlowTwinsSpec:
    """The views agree in each dimension of their projections, dimensions do not."""

    word: ClassVar[str] = "barlow-twins"

    hidden: int = 2048
    """width of the projector"""
    redundancy: float = 0.005
    """how much two dimensions that agree cost, beside views that do not"""

    def __post_init__(self) -> None:
        check_whole("method", "hidden", self.hidden, least=1)
        check_not_negative("method", "redundancy", self.redundancy)


Method = SimSiamSpec | BarlowTwinsSpec


@dataclass(frozen=True)
class ProbeSpec:
    """The linear classifier of frozen features by which a run is judged: SGD, momentum 0.9."""

    epochs: int = 100
    lr: float = 10.0
    drops: tuple[float, ...] = (0.6, 0.8)
    """after these shares of the epochs the learning rate is divided by 10"""
    batch: int = 256
    crops: bool = True
    """train on windows of 8 to 100 % of the image and on flips, as SimSiam's evaluation does; off,
    on the images as they are, whose features are computed once"""

    def __post_init__(self) -> None:
        check_whole("probe", "epochs", self.epochs, least=1)
        check_positive("probe", "lr", self.lr)
        check_whole("probe", "batch", self.batch, least=2)
        check_switch("probe", "crops", self.crops)
        if not isinstance(self.drops, tuple):
            refuse("probe", "drops must be a tuple of shares of the epochs", describe(self.drops))
        for place, share in enumerate(self.drops):
            check_share("probe", f"drops[{place}]", share)


@dataclass(frozen=True)
class PretrainRecipe:
    """A training run without labels."""

    name: str
    """how the run is called"""
    model: str
    """a name that softaug.lab.models.create knows, or timm:NAME; its classifier is left out"""
    data: DataSpec = field(default_factory=DataSpec)
    views: ViewsSpec = field(default_factory=ViewsSpec)
    weight: PairSpec = field(default_factory=PairSpec)
    method: Method = field(default_factory=SimSiamSpec)
    optim: Optim = field(default_factory=lambda: Optim(lr=0.2))
    compute: Compute = field(default_factory=Compute)
    epochs: int = 500
    """passes over the training images"""
    batch: int = 512
    """pairs in a step, over all processes"""
    seed: int = 0
    """initial weights, order and draws, of the probe too"""
    probe: ProbeSpec = field(default_factory=ProbeSpec)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            rule = f"method must be {' or '.join(kind.__name__ for kind in get_args(Method))}"
            refuse("recipe", rule, describe(self.method))
        check_run(self)
        if self.batch < 2:
            refuse("recipe", "batch must be at least 2", self.batch, "one pair has no statistics")
        if self.data.unreadable == "skip":
            remedy = "remove the files that `softaug data folder:PATH --decode` names"
            rule = 'data.unreadable must be "refuse": neighbours are among all training images'
            refuse("recipe", rule, "skip", remedy)


AnyRecipe = Recipe | PretrainRecipe
