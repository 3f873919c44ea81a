"""From a recipe's augmentation to transforms, as they are in each epoch."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn
from torchvision.transforms.v2 import (  # type: ignore[attr-defined]
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    TrivialAugmentWide,
)

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.lab.models.manifold_mixup import ManifoldMixup, ManifoldParams
from softaug.lab.recipes.augment import (
    Augment,
    Crop,
    NormalOffsets,
    NormalWindows,
    Pace,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.config import Mix, Recipe
from softaug.label import MixedLabel, SoftLabel
from softaug.mixing import BatchMix, CutMix, Mixup
from softaug.pacing import AccuracyHold, AccuracyLine, ConfidenceMatch, HeldOutGap, Pacer, Rule
from softaug.transforms import (
    HorizontalFlip,
    PerSample,
    SoftCrop,
    SoftCutout,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
)
from softaug.transforms.base import Fill, SoftTransform
from softaug.transforms.strength import AUTO, Paced

AnyTransform = SoftTransform[Any]


def build_transforms(
    augment: Augment, data_mean: Sequence[float], size: int, own: Tensor | None = None
) -> tuple[AnyTransform, ...]:
    """Build the transforms in their order; `data_mean` is a grey level for each channel.

    `size` is the edge that windows are resized to; other crops keep that of the images. `own`
    are sigmas of the crop for each sample [N], by its place in the data set.
    """
    fills: dict[str, Fill] = {
        "data-mean": tuple(round(mean) for mean in data_mean),
        "image-mean": "mean",
        "black": 0,
    }
    made: dict[str, AnyTransform | None] = {
        "flip": HorizontalFlip() if augment.flip else None,
        "crop": _crop(augment.crop, fills, size, own),
        "policy": _policy(augment),
        "noise": _noise(augment),
        "cutout": _cutout(augment, fills),
    }
    steps = [made[step] for step in augment.order]
    return tuple(transform for transform in steps if transform is not None)


def _crop(crop: Crop, fills: Mapping[str, Fill], size: int, own: Tensor | None) -> AnyTransform:
    k = _k(crop.k)
    if isinstance(crop, UniformOffsets):
        return UniformCrop(crop.max_shift, k, fills[crop.fill])
    if isinstance(crop, UniformWindows):
        return UniformResizedCrop(size, crop.scale, crop.ratio, k, crop.antialias)
    soft = SoftCrop if isinstance(crop, NormalOffsets) else partial(SoftResizedCrop, size)
    settings = vars(crop) | {"k": k, "fill": fills[crop.fill]}
    if own is None:
        return soft(**settings)
    return _with_own(soft(**settings | {"sigma": AUTO}), own)


def _with_own(crop: SoftCrop | SoftResizedCrop, own: Tensor) -> AnyTransform:
    assert isinstance(crop.sigma, Paced), "it was made so"
    crop.sigma.divide("sample", len(own))
    crop.sigma.set(own)
    return crop


def _noise(augment: Augment) -> AnyTransform | None:
    noise = augment.noise
    return SoftNoise(noise.sigma, noise.noise_sd, _k(noise.k)) if noise.sigma else None


def _cutout(augment: Augment, fills: Mapping[str, Fill]) -> AnyTransform | None:
    cutout = augment.cutout
    return SoftCutout(cutout.length, _k(cutout.k), fills[cutout.fill]) if cutout.length else None


def _k(k: float | None) -> float:
    """A transform's curve: an endless one leaves labels whole."""
    return math.inf if k is None else k


TORCHVISION: dict[str, Callable[[], Any]] = {
    "randaugment": RandAugment,
    "trivialaugment": TrivialAugmentWide,
    "autoaugment": lambda: AutoAugment(AutoAugmentPolicy.CIFAR10),
}


def _policy(augment: Augment) -> AnyTransform | None:
    if augment.policy == "none":
        return None
    if augment.curves is not None:
        return SoftPolicy(augment.policy.removesuffix("augment"), curves=augment.curves)
    return PerSample(TORCHVISION[augment.policy]())


def scheduled(augment: Augment, epoch: int, epochs: int) -> Augment:
    """The augmentation as its schedules have it in `epoch`.

    >>> soft = Augment(NormalOffsets(sigma=0.3), schedules=(("crop.sigma", 0.001, 0.04),))
    >>> scheduled(soft, 479, 500).crop.sigma, scheduled(soft, 480, 500).crop.sigma
    (0.3, 0.0003)
    """
    for setting, factor, share in augment.schedules:
        if epoch >= epochs - round(share * epochs):
            augment = _multiply(augment, setting, factor)
    return augment


def _multiply(augment: Augment, setting: str, factor: float) -> Augment:
    part, name = setting.split(".")
    before = getattr(augment, part)
    value = getattr(before, name)
    if isinstance(value, int) and value * factor != int(value * factor):
        rule = f"{setting} must stay a whole number"
        refuse("augment.schedules", rule, f"{value} x {factor:g}", "choose another factor")
    changed = replace(before, **{name: type(value)(value * factor)})
    return replace(augment, **{part: changed})


def image_mixing(mix: Mix) -> BatchMix[Any] | None:
    """What mixes the images of a step, if any does."""
    kinds: dict[str, type[BatchMix[Any]]] = {"mixup": Mixup, "cutmix": CutMix}
    return kinds[mix.kind](mix.alpha) if mix.kind in kinds else None


def step_key(recipe: Recipe, step: int) -> DrawKey:
    """Names the draws of a step, the same in every process."""
    return DrawKey(recipe.seed, 0, step)


class HiddenMixing:
    """Manifold Mixup of a network in training: the layer and the shares of each step.

    Partners are of the process's own images: a layer's output is nowhere else.
    """

    def __init__(self, net: nn.Module, recipe: Recipe) -> None:
        self._mixup = ManifoldMixup(net.get_submodule("net"), alpha=recipe.mix.alpha)
        self._recipe = recipe

    def mixing(self, step: int, num: int) -> AbstractContextManager[ManifoldParams]:
        """Forward passes of `num` images in here mix one layer's output."""
        return self._mixup.mixing(num, key=step_key(self._recipe, step))

    def report(self, label: Tensor | SoftLabel, params: ManifoldParams) -> MixedLabel:
        """The labels of what was mixed."""
        return self._mixup.report(label, params)


def hidden_mixing(net: nn.Module, recipe: Recipe) -> HiddenMixing | None:
    """What mixes layers, if the recipe does; `net` standardises, then has the network proper."""
    return HiddenMixing(net, recipe) if recipe.mix.kind == "manifold-mixup" else None


class Strength(NamedTuple):
    """What a pacer has set for an epoch."""

    epoch: int
    sigma: float
    k: float | None  # None leaves the recipe's
    own: Tensor | None = None  # sigma of each training sample, [N]; None where all have one


def build_pacer(augment: Augment, epochs: int, num_classes: int, num_samples: int) -> Pacer | None:
    """The pacer that a recipe asks for; its crop only holds what it sets.

    Batches are made by crops of plain numbers (`at_strength`), so that each stays a function of
    numbers, in whatever process it is made.
    """
    pace, crop = augment.pace, augment.crop
    if not pace.on:
        return None
    assert isinstance(crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    return Pacer(
        SoftCrop("auto", "auto" if pace.find_k else 2.0),
        epochs,
        _rule(pace),
        by=pace.by,
        num={"all": None, "class": num_classes, "sample": num_samples}[pace.by],
        first=crop.sigma,
        least=pace.least,
        most=pace.most,
        factor=pace.factor,
        settle=pace.settle,
        first_k=crop.k or 2.0,
    )


_RULES: dict[str, Callable[..., Rule]] = {
    "accuracy-hold": AccuracyHold,
    "accuracy-line": AccuracyLine,
    "confidence-match": ConfidenceMatch,
    "held-out-gap": HeldOutGap,
}


def _rule(pace: Pace) -> Rule:
    """With what the recipe gives it; else its own settings."""
    settings = {"goal": pace.goal, "since": pace.since}
    return _RULES[pace.rule](**{name: own for name, own in settings.items() if own is not None})


def strength_of(pacer: Pacer, labels: Tensor) -> Strength:
    """What holds in the epoch that the pacer is in, for training samples of these `labels` [N].

    A class's sigma is that of each of its samples: draws know a sample's place alone.
    """
    own = None if pacer.by == "all" else pacer.strengths
    if own is not None and pacer.by == "class":
        own = own[labels.cpu()]
    return Strength(pacer.epoch, pacer.strength, pacer.k, own)


def pacer_metrics(pacer: Pacer) -> dict[str, float]:
    """Return what to log of the strengths that the pacer has set.

    Where there are many, a tenth is below `sigma_low` and a tenth above `sigma_high`.
    """
    found = {"sigma": pacer.strength} | ({} if pacer.k is None else {"k": pacer.k})
    if pacer.by != "all":
        ordered = pacer.strengths.sort().values
        tenth = len(ordered) // 10
        found |= {"sigma_low": float(ordered[tenth]), "sigma_high": float(ordered[-1 - tenth])}
    return found


def at_strength(augment: Augment, strength: Strength) -> Augment:
    """The augmentation with the crop that a pacer asks for.

    >>> soft = Augment(NormalOffsets(sigma=0.3), pace=Pace("accuracy-line"))
    >>> at_strength(soft, Strength(epoch=7, sigma=0.25, k=None)).crop.sigma
    0.25
    """
    assert isinstance(augment.crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    k = augment.crop.k if strength.k is None else strength.k
    return replace(augment, crop=replace(augment.crop, sigma=strength.sigma, k=k))
