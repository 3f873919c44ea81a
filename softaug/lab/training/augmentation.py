"""From a recipe's augmentation to transforms, as they are in each epoch."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torchvision.transforms.v2 import (  # type: ignore[attr-defined]
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    TrivialAugmentWide,
)

from softaug.checks import check_positive, describe, refuse
from softaug.lab.recipes.augment import (
    MIX_ALPHA,
    Augment,
    Crop,
    Cutout,
    Erase,
    Factors,
    Noise,
    NormalOffsets,
    NormalWindows,
    SigmaLaw,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.config import Recipe
from softaug.pacing import AccuracyHold, ConfidenceMatch, Pacer, Rule
from softaug.pixels import Fill
from softaug.transforms import (
    HorizontalFlip,
    Mixture,
    PerSample,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    Uniform,
    UniformCrop,
    UniformResizedCrop,
)
from softaug.transforms.base import SoftTransform
from softaug.transforms.strength import AUTO, Law, Paced

AnyTransform = SoftTransform[Any]
LEAST_SIGMA = 1e-6  # stands for 0, which no transform takes: it moves nothing


def build_transforms(
    augment: Augment,
    data_mean: Sequence[float],
    size: int,
    per_sample_sigma: Tensor | None = None,
    factors: SampleFactors | None = None,
) -> tuple[AnyTransform, ...]:
    """Build the transforms in their order; `data_mean` is a gray level for each channel.

    `size` is the edge that windows are resized to; other crops keep that of the images.
    `per_sample_sigma` [N] is the crop's for each sample, by the index of its key; `factors` of its
    sigma and k are likewise for each sample.
    """
    fills: dict[str, Fill] = {
        "data-mean": tuple(round(mean) for mean in data_mean),
        "image-mean": "mean",
        "black": 0,
    }
    noise, cutout, erase = augment.noise, augment.cutout, augment.erase
    made: dict[str, AnyTransform | None] = {
        "flip": HorizontalFlip(alternate=augment.alternate_flip) if augment.flip else None,
        "crop": _build_crop(augment, fills, size, per_sample_sigma, factors),
        "policy": _build_policy(augment),
        "noise": SoftNoise(noise.sigma, noise.noise_sd, _get_k(noise)) if noise.sigma else None,
        "cutout": None,
    }
    if cutout.length:
        made["cutout"] = SoftCutout(cutout.length, _get_k(cutout), fills[cutout.fill])
    if erase.p:
        fill = fills[erase.fill]
        made["cutout"] = SoftErase(erase.area, k=_get_k(erase), fill=fill, p=erase.p)
    steps = [made[step] for step in augment.order]
    return tuple(transform for transform in steps if transform is not None)


def _build_crop(
    augment: Augment,
    fills: Mapping[str, Fill],
    size: int,
    per_sample_sigma: Tensor | None,
    factors: SampleFactors | None,
) -> AnyTransform:
    crop = augment.crop
    k = _get_k(crop)
    if isinstance(crop, UniformOffsets):
        return UniformCrop(crop.max_shift, k, fills[crop.fill])
    if isinstance(crop, UniformWindows):
        return UniformResizedCrop(size, crop.scale, crop.ratio, k, crop.antialias)
    soft = SoftCrop if isinstance(crop, NormalOffsets) else partial(SoftResizedCrop, size)
    sigma = _build_sigma(crop.sigma or LEAST_SIGMA, augment.law)
    settings = vars(crop) | {"sigma": sigma, "k": k, "fill": fills[crop.fill]}
    if factors is not None:
        assert isinstance(sigma, float), "the recipe has no law"
        settings |= {"sigma": ByIndex(sigma * factors.sigma), "k": ByIndex(k * factors.k)}
    if per_sample_sigma is None:
        return soft(**settings)
    made = soft(**settings | {"sigma": AUTO})
    assert isinstance(made.sigma, Paced), "it was made so"
    made.sigma.divide("sample", len(per_sample_sigma))
    made.sigma.set(per_sample_sigma)
    return made


class SampleFactors(NamedTuple):
    """What the crop's sigma and k are multiplied by for each training sample (Eq. 11)."""

    sigma: Tensor  # [N] float64
    k: Tensor  # [N] float64


@dataclass(frozen=True)
class ByIndex:
    """Each sample's number, by its index in the data; all views of an image have the same."""

    values: Tensor  # [N]

    def __call__(self, index: Tensor, label: Tensor | None = None) -> Tensor:
        return self.values.to(index.device)[index % len(self.values)]


def read_factors(factors: Factors, labels: Tensor, num_classes: int) -> SampleFactors | None:
    """Return the factors of each training sample, of these `labels` [N]; None where all are 1."""
    if not factors.on:
        return None
    tables = {"sigma": factors.sigma, "k": factors.k}
    values_of = {name: torch.ones(len(labels), dtype=torch.float64) for name in tables}
    for name, table in tables.items():
        if table and len(table) != num_classes:
            rule = f"{name} must have a factor for each of the {num_classes} classes"
            refuse("augment.factors", rule, len(table))
        if table:
            values_of[name] = torch.tensor(table, dtype=torch.float64)[labels.cpu()]
    for name, values in _read_sample_factors(factors.samples, len(labels)).items():
        values_of[name] *= values
    return SampleFactors(**values_of)


def _read_sample_factors(path: str | None, num: int) -> dict[str, Tensor]:
    if path is None:
        return {}
    who, lists = f"augment.factors.samples {path}", '{"sigma": [...], "k": [...]}'
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        refuse(who, f"it must be a JSON file {lists}", error)
    if not isinstance(content, dict) or not content or not content.keys() <= {"sigma", "k"}:
        refuse(who, f"it must hold {lists}", describe(content))
    for name, values in content.items():
        if not isinstance(values, list) or len(values) != num:
            refuse(who, f"{name} must have a factor for each of the {num} images", describe(values))
        for index, value in enumerate(values):
            check_positive(who, f"{name}[{index}]", value)
    return {name: torch.tensor(values).double() for name, values in content.items()}


def _build_sigma(sigma: float, law: SigmaLaw) -> float | Law:
    if law.kind == "mixture":
        return Mixture(law.mild * sigma, sigma, law.share)
    return Uniform(sigma) if law.kind == "uniform" else sigma


def view_sigmas(augment: Augment, num: int) -> Tensor | None:
    """Return the sigma of each view of `num` images, [views x num], the far ones last.

    None where all views are alike.
    """
    crop, law, views = augment.crop, augment.law, augment.views
    if views == 1 or law.kind != "mixture":
        return None
    assert isinstance(crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    far = torch.arange(views) >= views * (1 - law.share)
    sigmas = crop.sigma * far.double().clamp(min=law.mild)
    return sigmas.repeat_interleave(num)


def _get_k(settings: Crop | Noise | Cutout | Erase) -> float:
    """Return a transform's k: an infinite one leaves labels whole."""
    return math.inf if settings.k is None else settings.k


def _build_policy(augment: Augment) -> AnyTransform | None:
    if augment.policy == "none":
        return None
    if augment.curves is not None:
        return SoftPolicy(augment.policy.removesuffix("augment"), curves=augment.curves)
    policies: dict[str, Callable[[], Any]] = {
        "randaugment": RandAugment,
        "trivialaugment": TrivialAugmentWide,
        "autoaugment": lambda: AutoAugment(AutoAugmentPolicy.CIFAR10),
    }
    return PerSample(policies[augment.policy]())


def scheduled(augment: Augment, epoch: int, epochs: int) -> Augment:
    """Return the augmentation as its schedules have it in `epoch`.

    >>> soft = Augment(NormalOffsets(sigma=0.3), schedules=(("crop.sigma", 0.001, 0.04),))
    >>> scheduled(soft, 479, 500).crop.sigma, scheduled(soft, 480, 500).crop.sigma
    (0.3, 0.0003)
    """
    for setting, factor, share in augment.schedules:
        if setting == MIX_ALPHA or epoch < epochs - round(share * epochs):
            continue
        part, name = setting.split(".")
        before = getattr(augment, part)
        value = getattr(before, name)
        if isinstance(value, int) and value * factor != int(value * factor):
            rule = f"{setting} must stay a whole number"
            refuse("augment.schedules", rule, f"{value} x {factor:g}", "choose another factor")
        changed = replace(before, **{name: type(value)(value * factor)})
        augment = replace(augment, **{part: changed})
    return augment


def scheduled_alpha(recipe: Recipe, epoch: int) -> float:
    """Return the alpha of a recipe's mix in `epoch`; 0 where nothing is mixed.

    >>> from softaug.lab.recipes import Mix
    >>> late = Augment(schedules=(("mix.alpha", 0.0, 0.25),))
    >>> mixup = Recipe("docs", "resnet8", augment=late, mix=Mix("mixup"), epochs=4)
    >>> [scheduled_alpha(mixup, epoch) for epoch in range(4)]
    [1.0, 1.0, 1.0, 0.0]
    """
    alpha = 0.0 if recipe.mix.kind == "none" else recipe.mix.alpha
    for setting, factor, share in recipe.augment.schedules:
        if setting == MIX_ALPHA and epoch >= recipe.epochs - round(share * recipe.epochs):
            alpha *= factor
    return alpha


class Strength(NamedTuple):
    """What a pacer has set for an epoch."""

    epoch: int
    sigma: float
    k: float | None  # None leaves the recipe's
    per_sample_sigma: Tensor | None = None  # [N]; None where all samples have one


def build_pacer(augment: Augment, epochs: int, num_classes: int, num_samples: int) -> Pacer | None:
    """Build the pacer that a recipe asks for; its crop only holds what it sets.

    Batches are made by crops of plain numbers (`at_strength`), so that each stays a function of
    numbers, in whatever process it is made.
    """
    pace, crop = augment.pace, augment.crop
    if not pace.on:
        return None
    assert isinstance(crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    rules: dict[str, Callable[..., Rule]] = {
        "accuracy-hold": AccuracyHold,
        "confidence-match": ConfidenceMatch,
    }
    settings = {"goal": pace.goal, "since": pace.since}
    return Pacer(
        SoftCrop("auto", "auto" if pace.find_k else 2.0),
        epochs,
        rules[pace.rule](**{name: value for name, value in settings.items() if value is not None}),
        by=pace.by,
        num={"all": None, "class": num_classes, "sample": num_samples}[pace.by],
        first=crop.sigma,
        least=pace.least,
        most=pace.most,
        factor=pace.factor,
        settle=pace.settle,
        first_k=crop.k or 2.0,
    )


def strength_of(pacer: Pacer, labels: Tensor) -> Strength:
    """Return what holds in the pacer's epoch, for training samples of these `labels` [N].

    A class's sigma is that of each of its samples: draws depend on a sample's index alone.
    """
    sigma = None if pacer.by == "all" else pacer.strengths
    if sigma is not None and pacer.by == "class":
        sigma = sigma[labels.cpu()]
    return Strength(pacer.epoch, pacer.strength, pacer.k, sigma)


def pacer_metrics(pacer: Pacer) -> dict[str, float]:
    """Return what to log of the strengths that the pacer has set.

    Where there are many, a tenth is below `sigma_low` and a tenth above `sigma_high`.
    """
    metrics = {"sigma": pacer.strength} | ({} if pacer.k is None else {"k": pacer.k})
    if pacer.by != "all":
        ordered = pacer.strengths.sort().values
        tenth = len(ordered) // 10
        metrics |= {"sigma_low": float(ordered[tenth]), "sigma_high": float(ordered[-1 - tenth])}
    return metrics


def at_strength(augment: Augment, strength: Strength) -> Augment:
    """Return the augmentation with the crop that a pacer asks for.

    >>> from softaug.lab.recipes.augment import Pace
    >>> soft = Augment(NormalOffsets(sigma=0.3), pace=Pace("accuracy-hold"))
    >>> at_strength(soft, Strength(epoch=7, sigma=0.25, k=None)).crop.sigma
    0.25
    """
    assert isinstance(augment.crop, NormalOffsets | NormalWindows), "the recipe sees to it"
    k = augment.crop.k if strength.k is None else strength.k
    return replace(augment, crop=replace(augment.crop, sigma=strength.sigma, k=k))
