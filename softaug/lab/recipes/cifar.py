"""Supervised rows for small images: the paper's on CIFAR (Tables 2 and 3), and CPU-scale ones."""

from dataclasses import replace
from typing import Any

from softaug.lab.recipes.augment import Augment, NormalOffsets, UniformOffsets
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Entry, derive, root

MODELS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")
FAR = NormalOffsets(sigma=0.3, k=2.0)  # the paper's crop
DECAY = (("crop.sigma", 0.001, 0.04),)  # the paper's: in the last 20 of 500 epochs it hardly moves
_UNSTATED = "not stated in the paper"
_OPTIM = {
    "efficientnet-b0": Optim(lr=0.025),
    "pyramidnet272": Optim(lr=0.05, weight_decay=5e-5),
}
_COSTS = {
    "resnet18": "2.5 V100-hours (the paper's)",
    "resnet50": "7 V100-hours (the paper's)",
    "wrn28-10": "9 V100-hours (the paper's)",
    "pyramidnet272": f"{_UNSTATED}, which used 2 V100s",
}
_REMARKS = {
    "efficientnet-b0": "; learning rate 0.025, the paper's",
    "pyramidnet272": "; learning rate and weight decay are ours, the paper states none",
}
# From training steps alone: 620 and 1500 images a second, one thread of an AMD EPYC, torch 2.15.
_CIFAR_COST = "about 40 minutes on one CPU core"
_DIGITS_COST = "about 10 seconds on one CPU core"


def paper_entries() -> list[Entry]:
    """Every network on both data sets, with the arms that the paper has, and TrivialAugment."""
    return [
        entry
        for data in ("cifar100", "cifar10")
        for model in MODELS
        for entry in _arms(data, model)
    ]


def _arms(data: str, model: str) -> list[Entry]:
    """The arms of one network: hard, soft, each with RandAugment; for WRN also Table 3's others."""
    hard = hard_entry(data, model)
    soft = soft_entry(hard)
    arms = [hard, soft, randaugment_entry(hard), soft_randaugment_entry(soft)]
    if model != "wrn28-10":
        return arms
    trivial = {"augment.policy": "trivialaugment"}
    before = "with TrivialAugment before the crop"
    lacks = f"Baseline {before}: the row that the paper's Table 3 lacks"
    five = "Ensemble of five baselines: the mean of their probabilities"
    ensemble = _row(hard, "ensemble", five, {"members": 5})
    return [
        *arms,
        _row(hard, "trivialaugment", lacks, trivial),
        _row(soft, "soft-trivialaugment", f"Soft Augmentation {before}", trivial),
        replace(ensemble, cost=f"5 runs, each {hard.cost}"),
    ]


def hard_entry(data: str, model: str) -> Entry:
    """The paper's baseline: offsets of up to 4 pixels, flips, hard labels."""
    recipe = Recipe(
        name=f"{data}-{model}-hard",
        model=model,
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=_OPTIM.get(model, Optim(lr=0.1)),
        epochs=500,
        batch=128,
    )
    about = f"Baseline: hard crops of up to 4 pixels{_REMARKS.get(model, '')}"
    return root(recipe, about, _COSTS.get(model, _UNSTATED))


def soft_entry(hard: Entry) -> Entry:
    """The paper's method; sigma decays on CIFAR-100 only, as the text says."""
    about = "Soft Augmentation: far crops, target and weight soften with what they leave"
    changes: dict[str, Any] = {"augment.crop": FAR, "loss.soften": "both"}
    if hard.recipe.data.name == "cifar100":
        about += "; sigma decays in the last 20 epochs"
        changes["augment.schedules"] = DECAY
    return _row(hard, "soft", about, changes)


def randaugment_entry(hard: Entry) -> Entry:
    """The baseline with RandAugment."""
    about = "Baseline with RandAugment before the crop"
    return _row(hard, "randaugment", about, {"augment.policy": "randaugment"})


def soft_randaugment_entry(soft: Entry) -> Entry:
    """Soft Augmentation with RandAugment."""
    about = "Soft Augmentation with RandAugment before the crop"
    return _row(soft, "soft-randaugment", about, {"augment.policy": "randaugment"})


def _row(parent: Entry, arm: str, about: str, changes: dict[str, Any]) -> Entry:
    return derive(parent, arm, about + _REMARKS.get(parent.recipe.model, ""), changes)


def cpu_scale_entries() -> list[Entry]:
    """Return small networks on CIFAR-100 and CIFAR-10, and digits."""
    hard, aggressive, soft = _small("cifar100")
    normal, target = "the very crops of the soft row, with hard labels", "only the target softens"
    return [
        *(hard, aggressive, soft),
        derive(soft, "hard-normal", f"Small: {normal}", {"loss.soften": "none"}),
        derive(soft, "soft-target", f"Small: {target}", {"loss.soften": "target"}),
        _mild(soft),
        *_small_cifar10(),
        *_digits(),
    ]


def _small(data: str) -> tuple[Entry, Entry, Entry]:
    """Baseline, far hard crops and Soft Augmentation for one CPU core."""
    recipe = Recipe(
        name=f"{data}-resnet8-s2-hard",
        model="resnet8-s2",
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=Optim(lr=0.1),
        epochs=30,
        batch=128,
    )
    hard = root(recipe, "Small baseline: hard crops of up to 4 pixels", _CIFAR_COST)
    far, soft = "hard crops of up to 16 pixels", "Soft Augmentation, target and weight; no decay"
    return (
        hard,
        derive(hard, "hard-aggressive", f"Small: {far}", {"augment.crop.max_shift": 16}),
        derive(hard, "soft", f"Small: {soft}", {"augment.crop": FAR, "loss.soften": "both"}),
    )


def _mild(soft: Entry) -> Entry:
    about = "Small: Soft Augmentation with nearer crops"
    return derive(soft, "soft-mild", about, {"augment.crop.sigma": 0.1})


def _small_cifar10() -> list[Entry]:
    """The arms of the study of rivals, where strengths were chosen on held-out images."""
    hard, aggressive, soft = _small("cifar10")
    mild = _mild(soft)
    rand, trivial = {"augment.policy": "randaugment"}, {"augment.policy": "trivialaugment"}
    mixup, with_trivial = {"mix.kind": "mixup", "mix.alpha": 0.2}, "soft-mild with TrivialAugment"
    smoothing = {"loss.label_smoothing": 0.05}
    return [
        *(hard, aggressive, soft, mild),
        derive(hard, "label-smoothing", "Small: labels smoothed by 0.05", smoothing),
        derive(hard, "mixup", "Small: Mixup of alpha 0.2", mixup),
        derive(hard, "cutout", "Small: Cutout of 8 pixels", {"augment.cutout.length": 8}),
        derive(hard, "randaugment", "Small: RandAugment before the crop", rand),
        derive(hard, "trivialaugment", "Small: TrivialAugment before the crop", trivial),
        derive(mild, "soft-mild-trivialaugment", f"Small: {with_trivial} before the crop", trivial),
        _soft_policy(hard, "soft-policy", "cifar100"),
        _soft_policy(hard, "soft-policy-naive", "naive"),
    ]


def _soft_policy(hard: Entry, arm: str, curves: str) -> Entry:
    """What the operations of TrivialAugment leave softens the labels, what a crop leaves not."""
    about = f"Small: a TrivialAugment that softens by {curves} curves; crops leave labels whole"
    policy = {"augment.policy": "trivialaugment", "augment.curves": curves}
    return derive(hard, arm, about, {**policy, "augment.crop.k": None, "loss.soften": "both"})


def _digits() -> list[Entry]:
    """Digits are not flipped (a 2 is no 2 then), and their background is black."""
    recipe = Recipe(
        name="digits-resnet8-hard",
        model="resnet8",
        data=DataSpec("digits", per_class=20),
        augment=Augment(crop=UniformOffsets(1, fill="black"), flip=False),
        optim=Optim(lr=0.1),
        epochs=60,
        batch=50,
    )
    about = "Digits: hard crops of up to 1 of 16 pixels, 20 images a class"
    hard = root(recipe, about, _DIGITS_COST)
    far = {"augment.crop": replace(FAR, fill="black")}
    soft = "Digits: Soft Augmentation, target and weight"
    return [
        hard,
        derive(hard, "hard-aggressive", "Digits: far crops with hard labels", far),
        derive(hard, "soft", soft, {**far, "loss.soften": "both"}),
    ]
