"""The paper's supervised CIFAR rows (Tables 2 and 3): each network, hard and soft."""

from dataclasses import replace
from typing import Any

from softaug.recipes.changes import DECAY, cropped, softened, with_policy
from softaug.recipes.crops import NormalOffsets, UniformOffsets
from softaug.recipes.entry import Entry, derive, root
from softaug.recipes.recipe import (
    Augment,
    DataSpec,
    LossSpec,
    Optim,
    Recipe,
)

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
