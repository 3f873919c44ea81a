"""From a recipe's augmentation to transforms, as they are in each epoch."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor
from torchvision.transforms.v2 import (  # type: ignore[attr-defined]
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    TrivialAugmentWide,
)

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.label import SoftLabel
from softaug.recipes.crops import Crop, NormalOffsets, UniformOffsets, UniformWindows
from softaug.recipes.recipe import Augment
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
    WindowCrop,
)
from softaug.transforms.base import SoftTransform
from softaug.transforms.fill import Fill
from softaug.transforms.paced import AUTO, Paced

AnyTransform = SoftTransform[Any]


class Chain:
    """Transforms one after the other, all drawing by one key."""

    def __init__(self, transforms: Sequence[AnyTransform]) -> None:
        self.transforms = tuple(transforms)

    @property
    def windows(self) -> WindowCrop | None:
        """The windows that come first, if they do: drawn before an image is decoded."""
        first = self.transforms[0] if self.transforms else None
        return first if isinstance(first, WindowCrop) else None

    @property
    def after_windows(self) -> "Chain":
        """What is left to do when windows are cut."""
        return Chain(self.transforms[1:])

    def __call__(
        self, images: Tensor, labels: Tensor | SoftLabel, key: DrawKey
    ) -> tuple[Tensor, SoftLabel]:
        label = labels
        for transform in self.transforms:
            images, label = transform(images, label, key=key)
        assert isinstance(label, SoftLabel)
        return images, label

    def __repr__(self) -> str:
        return " -> ".join(map(repr, self.transforms))


def build_chain(
    augment: Augment, data_mean: Sequence[float], size: int, own: Tensor | None = None
) -> Chain:
    """The transforms in their order; `data_mean` is a grey level for each channel.

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
    return Chain([transform for transform in steps if transform is not None])


def _crop(crop: Crop, fills: Mapping[str, Fill], size: int, own: Tensor | None) -> AnyTransform:
    k = _k(crop.k)
    if isinstance(crop, UniformOffsets):
        return UniformCrop(crop.reach, k, fills[crop.fill])
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
