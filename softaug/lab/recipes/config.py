"""What a training run is: everything its numbers depend on, except the code.

A recipe is frozen: a row of a table is its parent plus one change (`dataclasses.replace`).
`Recipe` learns from labels, `PretrainRecipe` without them. Where a run is put and on what machine
it runs is not part of it. No torch is loaded here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Protocol, get_args

from softaug.checks import check_not_negative, check_whole, describe, refuse
from softaug.lab.data.datasets import FOLDER, find_dataset, is_files
from softaug.lab.models.registry import check_model_name
from softaug.lab.recipes.augment import MIX_ALPHA, WINDOWS, Augment
from softaug.lab.recipes.fields import (
    Bounds,
    Count,
    NotNegative,
    Positive,
    Share,
    Shares,
    ShareTuple,
    Spec,
    Whole,
    check_shares,
    is_number,
)

SIBLING = "run:"  # before the name of a run in the same folder
_REMOVE = "remove the files that `softaug data folder:PATH --decode` names"


def check_data_name(who: str, _: str, value: str) -> None:
    """Refuse a data set that is not known, naming the nearest."""
    find_dataset(who, value)


def check_run_name(who: str, name: str, value: str) -> None:
    """Refuse what cannot be the name of a folder."""
    if not value or Path(value).name != value or value.startswith("."):
        refuse(who, f"{name} must be a word that can name a folder", repr(value))


@dataclass(frozen=True)
class DataSpec(Spec):
    """Which images are trained and measured on."""

    who: ClassVar[str] = "data"

    name: Annotated[str, check_data_name] = "cifar100"
    """cifar10, cifar100, fashion-mnist, fashion-mini, imagenet, imagenette, digits, or folder:PATH
    (PATH/train/CLASS/*.jpg and PATH/val/CLASS/*.jpg, or PATH/CLASS/*.jpg)"""
    labels: Literal["fine", "coarse"] = "fine"
    """CIFAR-100 has coarse labels too: 20 groups of 5 classes"""
    per_class: Count | None = None
    """train on this many images of each class, drawn by `seed`; None is all"""
    validation: Whole = 0
    """hold out this many training images and measure on them, not on the test set"""
    seed: Whole = 0
    """draws the subset and what is held out"""
    size: Annotated[int, partial(check_whole, least=8)] = 224
    """edge of a folder's images: the short edge is resized to it, the center is kept"""
    resize: int | None = None
    """short edge of a folder's images before the center is kept, if not `size`; training windows
    are cut from the images as they are"""
    unreadable: Literal["refuse", "skip"] = "refuse"
    """a training file that cannot be decoded ends the run, or is named and left out"""
    test_share: Share = 0.0
    """hold out this share of each class as the test set, drawn by `seed`, of a folder:PATH without
    val or test"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "coarse" and self.name != "cifar100":
            refuse(self.who, 'labels "coarse" are for cifar100 only', self.name)
        if self.resize is not None:
            check_whole(self.who, "resize", self.resize, least=self.size)
        if self.test_share and not self.name.startswith(FOLDER):
            refuse(self.who, "test_share is for folder:PATH", self.name, "it has a test set")
        given = {"resize": self.resize is not None, "unreadable": self.unreadable != "refuse"}
        for name, changed in given.items():
            if changed and not is_files(self.name):
                refuse(self.who, f"{name} is for images in folders", self.name)


@dataclass(frozen=True)
class LossSpec(Spec):
    """How labels soften with what the augmentation left."""

    who: ClassVar[str] = "loss"

    soften: Literal["none", "target", "weight", "both"] = "none"
    """none is hard augmentation"""
    weighting: Literal["sample", "batch_mean", "normalized"] = "sample"
    """how weights enter a batch: the equation's way, the release's, or scaled to mean 1"""
    label_smoothing: Share = 0.0
    """the paper's alpha: what the other classes get of an unsoftened label"""
    online_smoothing: Share = 0.0
    """share of the label that follows what the network answered for its class in the last epoch"""
    focal_gamma: NotNegative = 0.0
    """focal loss: weigh down what is answered surely (the paper calls it alpha)"""
    max_suppression: NotNegative = 0.0
    """MaxSup: factor of the top logit less the mean logit, which is added to the loss"""
    prior: str = "uniform"
    """where the mass of a softened target goes: uniform, coarse (CIFAR-100's groups), confusion
    (Fashion-MNIST's classes), or a prior.json that `softaug curves confusion` made"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior != "uniform" and self.soften not in ("target", "both"):
            remedy = "soften the target, or leave the prior uniform"
            refuse(self.who, "prior is for softened targets", f"soften {self.soften}", remedy)
        if self.label_smoothing and self.online_smoothing:
            rule = "one of label_smoothing and online_smoothing must be 0"
            refuse(self.who, rule, f"{self.label_smoothing:g} and {self.online_smoothing:g}")


@dataclass(frozen=True)
class Mix(Spec):
    """Two images become one; its label is both of theirs."""

    who: ClassVar[str] = "mix"

    kind: Literal["none", "mixup", "cutmix", "manifold-mixup", "puzzle-mix", "co-mixup"] = "none"
    """mixup blends images, cutmix pastes a box, manifold-mixup blends what a layer makes of them;
    puzzle-mix joins what is salient of two images, co-mixup of several, by gradients that cost a
    second pass"""
    alpha: Positive = 1.0
    """shares are drawn from Beta(alpha, alpha), one for each step; co-mixup's from a Dirichlet
    distribution"""


@dataclass(frozen=True)
class Optim(Spec):
    """The optimizer: SGD with Nesterov momentum, whose learning rate falls to 0 by a cosine."""

    who: ClassVar[str] = "optim"

    lr: Positive = 0.1
    """learning rate after the warm-up"""
    momentum: NotNegative = 0.9
    """of optimizers that have it"""
    weight_decay: NotNegative = 5e-4
    warmup_epochs: NotNegative = 0.0
    """the learning rate rises linearly over these"""
    clip_norm: Positive | None = None
    """longest gradient; None is no limit"""
    ema: float | None = None
    """decay of an average of the weights, which is then what is measured; None is none"""
    name: str = "SGD"
    """any class of torch.optim: SGD, AdamW, ..."""
    nesterov: bool = True
    """Nesterov's momentum, of optimizers that have it"""
    betas: Annotated[tuple[float, float], check_shares] | None = None
    """decays of the moments of AdamW and its like; None is torch's default"""
    schedule: Literal["cosine", "step", "constant"] = "cosine"
    """of the learning rate after the warm-up: to 0 by a cosine of the steps, or divided by 10 at
    each of `drops`, or constant"""
    drops: ShareTuple = (0.6, 0.8)
    """shares of the epochs, for schedule step"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.momentum >= 1:
            refuse(self.who, "momentum must be below 1", self.momentum)
        if self.ema is not None and not (is_number(self.ema) and 0 < self.ema < 1):
            refuse(self.who, "ema must be above 0 and below 1", self.ema)


@dataclass(frozen=True)
class Finetune(Spec):
    """What training begins from, where it is not from weights drawn by the seed."""

    who: ClassVar[str] = "finetune"

    weights: str | None = None
    """a file (.safetensors, or a state dict that torch.load reads with weights_only), the folder of
    a run, run:NAME (that of a run beside this one's folder), timm:NAME.TAG, or
    torchvision:Network_Weights.TAG; what does not fit stays new"""
    freeze: Literal["none", "backbone"] = "none"
    """backbone trains the classifier alone: all before it stays as loaded, and in eval mode, so
    that statistics of BatchNorm stay too"""
    layer_decay: Share | None = None
    """factor of the learning rate from each layer to the one before it, such as 0.75; None is 1"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.freeze != "none" and self.weights is None:
            refuse(self.who, "freeze is for weights that are loaded", f"{self.freeze}, none")
        if self.layer_decay == 0:
            refuse(self.who, "layer_decay must be above 0", 0, "finetune.freeze trains less")
        if self.freeze != "none" and self.layer_decay is not None:
            rule = "layer_decay is for layers that are trained"
            refuse(self.who, rule, f"freeze {self.freeze}", "leave one of them out")


# The settings that only some methods use, and these methods.
_OF_METHODS = {
    "outliers": ("energy",),
    "outlier_share": ("energy",),
    "outlier_weight": ("energy",),
    "margins": ("energy",),
    "spectral_bound": ("sngp", "ddu"),
    "num_features": ("sngp",),
    "length_scale": ("duq", "sngp"),
    "momentum": ("duq",),
    "gradient_penalty": ("duq",),
}


@dataclass(frozen=True)
class Uncertainty(Spec):
    """A rival that knows what it does not know, in place of the linear classifier."""

    who: ClassVar[str] = "uncertainty"

    method: Literal["none", "energy", "duq", "sngp", "ddu"] = "none"
    """energy: margins for images of other classes; duq: distances to centroids; sngp: a Gaussian
    process of random features; ddu: a Gaussian of each class's features"""
    outliers: str | None = None
    """energy: the data set whose training images are the other classes', such as cifar100"""
    outlier_share: Share = 0.02
    """energy: the last share of the epochs has margins"""
    outlier_weight: NotNegative = 0.1
    """energy: of the margins' loss"""
    margins: tuple[float, float] = (-23.0, -5.0)
    """energy: of known images at most, of others at least"""
    spectral_bound: Positive | None = None
    """sngp and ddu: of each layer's largest singular value; None is 6 and 3"""
    num_features: Count = 1024
    """sngp: random features"""
    length_scale: Positive | None = None
    """duq and sngp: of the kernel; None is 0.1 and 1"""
    momentum: Share = 0.999
    """duq: of the centroids' moving averages"""
    gradient_penalty: NotNegative = 0.75
    """duq: factor of the two-sided penalty of the images' gradient"""

    def __post_init__(self) -> None:
        super().__post_init__()
        defaults = {each.name: each.default for each in fields(self)}
        for name, methods in _OF_METHODS.items():
            value = getattr(self, name)
            if value != defaults[name] and self.method not in methods:
                rule = f"{name} is for {' and '.join(methods)}"
                refuse(self.who, rule, f"{value} with {self.method}", "leave it out")
        if self.method == "energy" and self.outliers is None:
            refuse(self.who, "energy needs outliers", "none", "--uncertainty.outliers cifar100")
        if self.outliers is not None:
            find_dataset(self.who, self.outliers)
        if not self.margins[0] < self.margins[1]:
            refuse(self.who, "margins must be (lower, higher)", self.margins)

    def check_recipe(self, recipe: Recipe) -> None:
        """Refuse what does not go with the method."""
        loss, kind = recipe.loss, recipe.mix.kind
        if self.method != "none" and recipe.data.unreadable == "skip":
            refuse(self.who, 'data.unreadable must be "refuse"', "skip")
        if self.method == "energy" and kind == "manifold-mixup":
            rule = "energy is for images that are not mixed within the network"
            refuse(self.who, rule, kind)
        if self.outliers == recipe.data.name:
            refuse(self.who, "outliers must be other images", self.outliers)
        if self.method != "duq":
            return
        plain = LossSpec(soften=loss.soften)
        if loss != plain or loss.soften not in ("none", "target"):
            rule = "duq has a loss of its own, in which only targets may soften"
            changed = [n for n, v in vars(loss).items() if v != getattr(LossSpec(), n)]
            refuse(self.who, rule, f"loss.{', loss.'.join(changed)}", "leave them out")
        if recipe.compute.compile or recipe.compute.precision != "float32":
            rule = "duq needs gradients of gradients: float32 without compile"
            refuse(self.who, rule, f"{recipe.compute.precision}, compile {recipe.compute.compile}")


@dataclass(frozen=True)
class Compute(Spec):
    """How the network is computed: it changes the speed and the last bits."""

    who: ClassVar[str] = "compute"

    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """below float32, autocast"""
    channels_last: bool = True
    """memory layout of images and weights"""
    compile: bool = False
    """torch.compile"""
    deterministic: bool = True
    """on a GPU: cuDNN kernels that give the same bits every time, which are slower"""


class EpochPlan(Protocol):
    """What the order of samples depends on: a recipe, or a part of one."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def seed(self) -> int: ...


def steps_per_epoch(num_images: int, recipe: EpochPlan) -> int:
    """Steps that take every image once; the last one may be small."""
    return math.ceil(num_images / recipe.batch)


@dataclass(frozen=True)
class Recipe(Spec):
    """A training run."""

    who: ClassVar[str] = "recipe"

    name: Annotated[str, check_run_name]
    """how the run is called"""
    model: Annotated[str, check_model_name]
    """a name that softaug.lab.models.create knows, or timm:NAME"""
    data: DataSpec = field(default_factory=DataSpec)
    augment: Augment = field(default_factory=Augment)
    mix: Mix = field(default_factory=Mix)
    loss: LossSpec = field(default_factory=LossSpec)
    optim: Optim = field(default_factory=Optim)
    compute: Compute = field(default_factory=Compute)
    epochs: Count = 500
    """passes over the training images"""
    batch: Count = 128
    """images in a step, over all processes"""
    seed: Whole = 0
    """initial weights, order and draws"""
    members: Count = 1
    """networks of an ensemble, each trained by a seed of its own"""
    finetune: Finetune = Finetune()
    uncertainty: Uncertainty = Uncertainty()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_warmup(self.optim, self.epochs)
        self.uncertainty.check_recipe(self)
        crop, kind, pace = self.augment.crop, self.mix.kind, self.augment.pace
        if self.batch % self.augment.views:
            rule = f"batch must hold whole images of augment.views {self.augment.views}"
            refuse(self.who, rule, self.batch)
        if kind == "manifold-mixup" and self.compute.compile:
            remedy = "the layer that is mixed changes from step to step"
            refuse(self.who, "compute.compile must be off for manifold-mixup", "on", remedy)
        if isinstance(crop, WINDOWS) and not is_files(self.data.name):
            rule = f"augment.crop {type(crop).__name__} is for images in folders"
            refuse(self.who, rule, self.data.name, "small images are cropped by offsets")
        if kind == "none" and MIX_ALPHA in (setting for setting, *_ in self.augment.schedules):
            refuse(self.who, f"a schedule of {MIX_ALPHA} is for a mix", kind, "leave it out")
        if self.data.unreadable == "skip":
            rule = 'data.unreadable "skip" is for windows'
            if not isinstance(crop, WINDOWS):
                refuse(self.who, rule, f"augment.crop {type(crop).__name__}")
            if kind in ("mixup", "cutmix"):
                refuse(self.who, f"{rule} that are not mixed", kind, _REMOVE)
        for setting, given in {"find_k": pace.find_k, 'by "sample"': pace.by == "sample"}.items():
            if given and kind != "none":
                rule = f"augment.pace.{setting} is for labels of one image"
                refuse(self.who, rule, f"mix {kind}")


def _check_warmup(optim: Optim, epochs: int) -> None:
    if optim.warmup_epochs >= epochs:
        rule = f"optim.warmup_epochs must be below the {epochs} epochs"
        refuse("recipe", rule, optim.warmup_epochs)


@dataclass(frozen=True)
class ViewsSpec(Spec):
    """How each of an image's two views is made: SimSiam's way for CIFAR, without blur."""

    who: ClassVar[str] = "views"

    scale: Shares = (0.2, 1.0)
    """least and largest share of the image's area that a view shows"""
    ratio: Bounds = (3 / 4, 4 / 3)
    """least and largest width by height of what it shows"""
    jitter: tuple[float, float, float, float] = (0.4, 0.4, 0.4, 0.1)
    """how far brightness, contrast, saturation and hue may change"""
    jitter_p: Share = 0.8
    """share of the views whose colors change"""
    grey_p: Share = 0.2
    """share of the views that are made grey"""
    flip_p: Share = 0.5
    """share of the views whose left and right are swapped"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.jitter, tuple) or len(self.jitter) != 4:
            rule = "jitter must be a tuple of four: brightness, contrast, saturation, hue"
            refuse(self.who, rule, describe(self.jitter))
        for place, strength in enumerate(self.jitter):
            check_not_negative(self.who, f"jitter[{place}]", strength)
        if self.jitter[3] > 0.5:
            refuse(self.who, "jitter[3], of the hue, must be at most 0.5", self.jitter[3])


@dataclass(frozen=True)
class PairSpec(Spec):
    """How much each pair of views counts, by the overlap of what they show."""

    who: ClassVar[str] = "weight"

    mode: Literal["none", "SA1", "SA2"] = "none"
    """SA1 trusts views that overlap, SA2 those that differ; none weighs all alike"""
    k: Positive = 4.0
    """how sharply the weight falls: only for SA1 and SA2"""
    p_min: Share = 0.0
    """weight, before scaling to mean 1, of a pair that is trusted least"""


@dataclass(frozen=True)
class SimSiamSpec(Spec):
    """Each view predicts the other's projection."""

    who: ClassVar[str] = "method"
    word: ClassVar[str] = "simsiam"

    hidden: Count = 2048
    """width of the projector"""
    bottleneck: Count = 512
    """width of the predictor's middle"""
    num_layers: Count = 3
    """layers of the projector"""
    fixed_predictor_lr: bool = True
    """the predictor keeps the first learning rate to the end, as SimSiam's authors advise"""


@dataclass(frozen=True)
class BarlowTwinsSpec(Spec):
    """The views agree in each dimension of their projections, dimensions do not."""

    who: ClassVar[str] = "method"
    word: ClassVar[str] = "barlow-twins"

    hidden: Count = 2048
    """width of the projector"""
    redundancy: NotNegative = 0.005
    """how much two dimensions that agree cost, beside views that do not"""


Method = SimSiamSpec | BarlowTwinsSpec


@dataclass(frozen=True)
class ProbeSpec(Spec):
    """The linear classifier of frozen features by which a run is judged: SGD, momentum 0.9."""

    who: ClassVar[str] = "probe"

    epochs: Count = 100
    lr: Positive = 10.0
    drops: ShareTuple = (0.6, 0.8)
    """after these shares of the epochs the learning rate is divided by 10"""
    batch: Annotated[int, partial(check_whole, least=2)] = 256
    crops: bool = True
    """train on windows of 8 to 100 % of the image and on flips, as SimSiam's evaluation does; off,
    on the images as they are, whose features are computed once"""


@dataclass(frozen=True)
class PretrainRecipe(Spec):
    """A training run without labels."""

    who: ClassVar[str] = "recipe"

    name: Annotated[str, check_run_name]
    """how the run is called"""
    model: Annotated[str, check_model_name]
    """a name that softaug.lab.models.create knows, or timm:NAME; its classifier is left out"""
    data: DataSpec = field(default_factory=DataSpec)
    views: ViewsSpec = field(default_factory=ViewsSpec)
    weight: PairSpec = field(default_factory=PairSpec)
    method: Method = field(default_factory=SimSiamSpec)
    optim: Optim = field(default_factory=lambda: Optim(lr=0.2))
    compute: Compute = field(default_factory=Compute)
    epochs: Count = 500
    """passes over the training images"""
    batch: Count = 512
    """pairs in a step, over all processes"""
    seed: Whole = 0
    """initial weights, order and draws, of the probe too"""
    probe: ProbeSpec = field(default_factory=ProbeSpec)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            rule = f"method must be {' or '.join(kind.__name__ for kind in get_args(Method))}"
            refuse(self.who, rule, describe(self.method))
        super().__post_init__()
        _check_warmup(self.optim, self.epochs)
        if self.batch < 2:
            refuse(self.who, "batch must be at least 2", self.batch, "one pair has no statistics")
        if self.data.unreadable == "skip":
            rule = 'data.unreadable must be "refuse": neighbours are among all training images'
            refuse(self.who, rule, "skip", _REMOVE)


AnyRecipe = Recipe | PretrainRecipe
