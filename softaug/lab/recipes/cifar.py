"""The paper's supervised CIFAR rows (Tables 2 and 3): each network, hard and soft."""

from dataclasses import replace
from typing import Any, Literal

from softaug.lab.recipes.augment import Augment, Cutout, NormalOffsets, UniformOffsets
from softaug.lab.recipes.config import DataSpec, LossSpec, Mix, Optim, Recipe
from softaug.lab.recipes.registry import DECAY, Entry, cropped, derive, root, softened, with_policy

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
MODELS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")


def paper_row_entries() -> list[Entry]:
    """Every network on both data sets, with the arms that the paper has, and TrivialAugment."""
    return [
        entry for data in ("cifar100", "cifar10") for model in MODELS for entry in rows(data, model)
    ]


def rows(data: str, model: str) -> list[Entry]:
    """The arms of one network: hard, soft, each with RandAugment; for WRN also Table 3's others."""
    hard = hard_entry(data, model)
    soft = soft_entry(hard)
    found = [hard, soft, randaugment_entry(hard), soft_randaugment_entry(soft)]
    if model != "wrn28-10":
        return found
    return [*found, *_trivialaugment(hard, soft), _ensemble(hard)]


def hard_entry(data: str, model: str) -> Entry:
    """The paper's baseline: offsets of up to 4 pixels, flips, hard labels."""
    recipe = Recipe(
        name=f"{data}-{model}-hard",
        model=model,
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        loss=LossSpec(soften="none"),
        optim=_OPTIM.get(model, Optim(lr=0.1)),
        epochs=500,
        batch=128,
    )
    about = f"Baseline: hard crops of up to 4 pixels{_REMARKS.get(model, '')}"
    return root(recipe, about, _COSTS.get(model, _UNSTATED))


def soft_entry(hard: Entry) -> Entry:
    """The paper's method; sigma decays on CIFAR-100 only, as the text says."""
    decays = hard.recipe.data.name == "cifar100"
    augment = cropped(hard.recipe, NormalOffsets(sigma=0.3, k=2.0))
    return _row(
        hard,
        "soft",
        "Soft Augmentation: far crops, target and weight soften with what they leave"
        + ("; sigma decays in the last 20 epochs" if decays else ""),
        augment=replace(augment, schedules=DECAY if decays else ()),
        loss=softened(hard.recipe, "both"),
    )


def _row(parent: Entry, arm: str, about: str, **changes: Any) -> Entry:
    return derive(parent, arm, about + _REMARKS.get(parent.recipe.model, ""), **changes)


def randaugment_entry(hard: Entry) -> Entry:
    """The baseline with RandAugment."""
    augment = with_policy(hard.recipe, "randaugment")
    return _row(hard, "randaugment", "Baseline with RandAugment before the crop", augment=augment)


def soft_randaugment_entry(soft: Entry) -> Entry:
    """Soft Augmentation with RandAugment."""
    augment = with_policy(soft.recipe, "randaugment")
    about = "Soft Augmentation with RandAugment before the crop"
    return _row(soft, "soft-randaugment", about, augment=augment)


def _trivialaugment(hard: Entry, soft: Entry) -> list[Entry]:
    about = "with TrivialAugment before the crop"
    return [
        _row(
            hard,
            "trivialaugment",
            f"Baseline {about}: the row that the paper's Table 3 lacks",
            augment=with_policy(hard.recipe, "trivialaugment"),
        ),
        _row(
            soft,
            "soft-trivialaugment",
            f"Soft Augmentation {about}",
            augment=with_policy(soft.recipe, "trivialaugment"),
        ),
    ]


def _ensemble(hard: Entry) -> Entry:
    about = "Ensemble of five baselines: the mean of their probabilities"
    entry = _row(hard, "ensemble", about, members=5)
    return replace(entry, cost=f"5 runs, each {hard.cost}")


# From training steps alone: 620 and 1500 images a second, one thread of an AMD EPYC, torch 2.15.
_CIFAR_COST = "about 40 minutes on one CPU core"
_DIGITS_COST = "about 10 seconds on one CPU core"


def cpu_scale_entries() -> list[Entry]:
    """CIFAR-100 with all arms, CIFAR-10 and digits with the three that matter most."""
    hard100, hard10 = _cifar("cifar100"), _cifar("cifar10")
    soft100, soft10 = _soft(hard100), _soft(hard10)
    beside = [_hard_normal(soft100), _soft_target(soft100), _soft_mild(soft100)]
    cifar100 = [hard100, _aggressive(hard100), soft100, *beside]
    cifar10 = [hard10, _aggressive(hard10), soft10, *_rivals(hard10, _soft_mild(soft10))]
    return [*cifar100, *cifar10, *_digits_entries()]


def _cifar(data: str) -> Entry:
    recipe = Recipe(
        name=f"{data}-resnet8-s2-hard",
        model="resnet8-s2",
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=Optim(lr=0.1),
        epochs=30,
        batch=128,
    )
    return root(recipe, "Small baseline: hard crops of up to 4 pixels", _CIFAR_COST)


def _aggressive(hard: Entry) -> Entry:
    about = "Small: hard crops of up to 16 pixels"
    augment = cropped(hard.recipe, UniformOffsets(16))
    return derive(hard, "hard-aggressive", about, augment=augment)


def _soft(hard: Entry) -> Entry:
    return derive(
        hard,
        "soft",
        "Small: Soft Augmentation, target and weight; no decay",
        augment=cropped(hard.recipe, NormalOffsets(sigma=0.3, k=2.0)),
        loss=softened(hard.recipe, "both"),
    )


def _hard_normal(soft: Entry) -> Entry:
    about = "Small: the very crops of the soft row, with hard labels"
    return derive(soft, "hard-normal", about, loss=softened(soft.recipe, "none"))


def _soft_target(soft: Entry) -> Entry:
    about = "Small: only the target softens"
    return derive(soft, "soft-target", about, loss=softened(soft.recipe, "target"))


def _soft_mild(soft: Entry) -> Entry:
    about = "Small: Soft Augmentation with nearer crops"
    augment = cropped(soft.recipe, NormalOffsets(sigma=0.1, k=2.0))
    return derive(soft, "soft-mild", about, augment=augment)


def _rivals(hard: Entry, mild: Entry) -> list[Entry]:
    """The arms of docs/rivals.md; strengths were chosen there on held-out images."""
    augment = hard.recipe.augment
    smoothing = replace(hard.recipe.loss, label_smoothing=0.05)
    trivial = with_policy(mild.recipe, "trivialaugment")
    about = "Small: soft-mild with TrivialAugment before the crop"
    return [
        mild,
        derive(hard, "label-smoothing", "Small: labels smoothed by 0.05", loss=smoothing),
        derive(hard, "mixup", "Small: Mixup of alpha 0.2", mix=Mix("mixup", alpha=0.2)),
        derive(
            hard, "cutout", "Small: Cutout of 8 pixels", augment=replace(augment, cutout=Cutout(8))
        ),
        _with_policy(hard, "randaugment", "RandAugment"),
        _with_policy(hard, "trivialaugment", "TrivialAugment"),
        derive(mild, "soft-mild-trivialaugment", about, augment=trivial),
        _soft_policy(hard, "soft-policy", "cifar100"),
        _soft_policy(hard, "soft-policy-naive", "naive"),
    ]


def _soft_policy(hard: Entry, arm: str, curves: str) -> Entry:
    """What the operations of TrivialAugment leave softens the labels, what a crop leaves not."""
    augment = hard.recipe.augment
    whole = replace(augment.crop, k=None)
    softly = replace(augment, crop=whole, policy="trivialaugment", curves=curves)
    about = f"Small: a TrivialAugment that softens by {curves} curves; crops leave labels whole"
    return derive(hard, arm, about, augment=softly, loss=softened(hard.recipe, "both"))


def _with_policy(
    hard: Entry, policy: Literal["randaugment", "trivialaugment"], words: str
) -> Entry:
    about = f"Small: {words} before the crop"
    return derive(hard, policy, about, augment=with_policy(hard.recipe, policy))


def _digits_entries() -> list[Entry]:
    hard = _digits()
    far = cropped(hard.recipe, NormalOffsets(sigma=0.3, k=2.0, fill="black"))
    aggressive = "Digits: far crops with hard labels"
    soft = "Digits: Soft Augmentation, target and weight"
    return [
        hard,
        derive(hard, "hard-aggressive", aggressive, augment=far),
        derive(hard, "soft", soft, augment=far, loss=softened(hard.recipe, "both")),
    ]


def _digits() -> Entry:
    """Digits are not flipped (a 2 is no 2 then), and their background is black."""
    crop = UniformOffsets(1, fill="black")
    recipe = Recipe(
        name="digits-resnet8-hard",
        model="resnet8",
        data=DataSpec("digits", per_class=20),
        augment=Augment(crop=crop, flip=False),
        optim=Optim(lr=0.1),
        epochs=60,
        batch=50,
    )
    return root(
        recipe, "Digits: hard crops of up to 1 of 16 pixels, 20 images a class", _DIGITS_COST
    )
