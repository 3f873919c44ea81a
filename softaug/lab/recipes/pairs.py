"""Rows without labels: the paper's SimSiam (Tables 4, 8 and 9), Barlow Twins, and small ones."""

from dataclasses import replace
from typing import Literal

from softaug.lab.recipes.config import (
    BarlowTwinsSpec,
    DataSpec,
    Method,
    Optim,
    PretrainRecipe,
    ProbeSpec,
    SimSiamSpec,
)
from softaug.lab.recipes.rows import PretrainEntry, change, derive, pretrain_root

_UNSTATED = "not stated in the paper"
# 300,000 pairs at 450 a second: median of 7 steps, CPU time of one thread of an AMD EPYC.
_SMALL_COST = "about 12 minutes on one CPU core, and 3 for the probe"
LEARNING_RATES = (0.1, 0.2, 0.4, 0.5, 0.8)  # Table 8's
DIVERGED = "; the paper says that it diverged"
Mode = Literal["SA1", "SA2"]
_ABOUT: dict[Mode, str] = {
    "SA1": "SA#1: pairs of views that overlap count more",
    "SA2": "SA#2: pairs of views that differ count more",
}


def pretrain_entries() -> list[PretrainEntry]:
    """SimSiam on both data sets, CIFAR-100 with the grids; Barlow Twins; the CPU scale."""
    ten, hundred = (_paper_arms(data) for data in ("cifar10", "cifar100"))
    return [
        *ten,
        *hundred,
        *_learning_rates(hundred),
        *_curves(hundred[1]),
        *_barlow_twins(),
        *_small("cifar10"),
        *_small("cifar100"),
    ]


def _paper_arms(data: str) -> list[PretrainEntry]:
    """Baseline, SA#1 and SA#2, each at the learning rate that Table 8 finds best."""
    baseline = pretrain_root(
        _recipe(data, "resnet18", SimSiamSpec()),
        "SimSiam: all pairs of views count alike",
        _UNSTATED,
    )
    second = derive(
        baseline,
        "sa2",
        f"SimSiam with {_ABOUT['SA2']}; its best learning rate in the paper is 0.1",
        {"weight.mode": "SA2", "optim.lr": 0.1},
    )
    return [baseline, _weighted(baseline, "SA1", "SimSiam with "), second]


def _recipe(data: str, model: str, method: Method) -> PretrainRecipe:
    return PretrainRecipe(
        name=f"{data}-{method.word}-{model}-baseline",
        model=model,
        data=DataSpec(data),
        method=method,
        optim=Optim(lr=0.2, momentum=0.9, weight_decay=5e-4),
        epochs=500,
        batch=512,
    )


def _weighted(baseline: PretrainEntry, mode: Mode, start: str) -> PretrainEntry:
    return derive(baseline, mode.lower(), start + _ABOUT[mode], {"weight.mode": mode})


def _learning_rates(arms: list[PretrainEntry]) -> list[PretrainEntry]:
    """Table 8: every arm at every learning rate but its own."""
    return [_at(arm, lr) for arm in arms for lr in LEARNING_RATES if lr != arm.recipe.optim.lr]


def _at(entry: PretrainEntry, lr: float) -> PretrainEntry:
    recipe = entry.recipe
    arm = recipe.name.rpartition("-")[2]
    diverged = DIVERGED if arm == "sa2" and lr >= 0.4 else ""
    about = f"{entry.about.partition(';')[0]}; learning rate {lr:g}{diverged}"
    return derive(entry, f"{arm}-lr{lr:g}", about, {"optim.lr": lr})


def _curves(first: PretrainEntry) -> list[PretrainEntry]:
    """Table 9: SA#1 with other k than 4."""
    return [
        derive(first, f"sa1-k{k}", f"{first.about}; k = {k}", {"weight.k": float(k)})
        for k in (1, 2, 3)
    ]


def _barlow_twins() -> list[PretrainEntry]:
    recipe = _recipe("cifar10", "resnet18", BarlowTwinsSpec())
    # With a small backbone and 2048 wide heads the loss falls at 0.005 and does not at 0.05 (110
    # steps of 128 pairs); at full scale it was never run.
    recipe = change(recipe, {"optim.lr": 0.005, "optim.warmup_epochs": 10.0})
    about = "Barlow Twins: all pairs of views count alike; all of it is ours, the paper has none"
    baseline = pretrain_root(recipe, about, "not known")
    return [baseline, *(_weighted(baseline, mode, "Barlow Twins with ") for mode in _ABOUT)]


def _small(data: str) -> list[PretrainEntry]:
    """One learning rate for all arms: what differs is the weight of a pair alone.

    It was chosen of 0.02, 0.05 and 0.15 by neighbours of 2,000 held-out images of CIFAR-10: the
    baseline's, after 8 epochs, one seed. The probe's was chosen of 10, 1 and 0.1 on the same
    images: at 10 it is worse and overconfident on features as few as these.
    """
    recipe = replace(
        _recipe(data, "resnet8-s2", SimSiamSpec(hidden=256, bottleneck=64, num_layers=2)),
        data=DataSpec(data, per_class=1000 if data == "cifar10" else 100),
        optim=Optim(lr=0.15, weight_decay=5e-4),
        epochs=30,
        batch=128,
        probe=ProbeSpec(epochs=50, lr=0.1),
    )
    baseline = pretrain_root(recipe, "Small SimSiam: all pairs of views count alike", _SMALL_COST)
    return [baseline, *(_weighted(baseline, mode, "Small SimSiam with ") for mode in _ABOUT)]
