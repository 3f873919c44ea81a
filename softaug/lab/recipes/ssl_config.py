"""What a run without labels is: two views of each image, and a probe that says what it learned.

Like `Recipe`, a `PretrainRecipe` holds everything that its numbers depend on, except the code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

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
from softaug.lab.recipes.config import (
    Compute,
    DataSpec,
    Optim,
    Recipe,
    check_not_negative,
    check_run,
)
from softaug.pair_weights import MODES


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
