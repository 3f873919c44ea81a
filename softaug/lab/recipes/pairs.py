"""Rows without labels: the paper's SimSiam (Tables 4, 8 and 9), Barlow Twins, and small ones."""

from dataclasses import replace

from softaug.lab.recipes.config import (
    BarlowTwinsSpec,
    DataSpec,
    Method,
    Optim,
    PretrainRecipe,
    ProbeSpec,
    SimSiamSpec,
)
from softaug.lab.recipes.rows import Entry, change, derive

_UNSTATED = "not stated in the paper"
# 300,000 pairs at 450 a second: median of 7 steps, CPU time of one thread of an AMD EPYC.
_SMALL_COST = "about 12 minutes on one CPU core, and 3 for the probe"
LEARNING_RATES = (0.1, 0.2, 0.4, 0.5, 0.8)  # Table 8's
DIVERGED = "; the paper says that it diverged"
_THREE = "three projector layers, as SimSiam has on ImageNet"
_THREE_LAYERS = {"method.num_layers": 3}
_MODES = {
    "SA1": "SA#1: pairs of views that overlap count more",
    "SA2": "SA#2: pairs of views that differ count more",
}


def pretrain_entries() -> list[Entry]:
    """SimSiam on both data sets, CIFAR-100 with the grids; Barlow Twins; the CPU scale."""
    ten, hundred = (_simsiam(data) for data in ("cifar10", "cifar100"))
    first = hundred[1]
    return [
        *ten,
        *hundred,
        *(_at(arm, lr) for arm in hundred for lr in LEARNING_RATES if lr != arm.recipe.optim.lr),
        *(
            derive(first, f"sa1-k{k}", f"{first.about}; k = {k}", {"weight.k": float(k)})
            for k in (1, 2, 3)  # Table 9's; the row of Table 4 has 4
        ),
        *(
            derive(arm, f"{_name_arm(arm)}-3-layers", f"{_shorten(arm)}; {_THREE}", _THREE_LAYERS)
            for arm in (*ten[:2], *hundred)
        ),
        *_barlow_twins(),
        *_small("cifar10"),
        *_small("cifar100"),
    ]


def _with_weights(baseline: Entry, start: str) -> list[Entry]:
    """Return a row and both weights of pairs beside it."""
    weights = [
        derive(baseline, mode.lower(), f"{start} with {about}", {"weight.mode": mode})
        for mode, about in _MODES.items()
    ]
    return [baseline, *weights]


def _simsiam(data: str) -> list[Entry]:
    """Baseline, SA#1 and SA#2, each at the learning rate that Table 8 finds best."""
    recipe = _recipe(data, "resnet18", SimSiamSpec(num_layers=2))
    about = (
        "SimSiam: all pairs of views count alike; the learning rate is not scaled by batch / 256"
    )
    baseline = Entry(recipe, about, _UNSTATED)
    about = f"SimSiam with {_MODES['SA2']}; its best learning rate in the paper is 0.1"
    second = derive(baseline, "sa2", about, {"weight.mode": "SA2", "optim.lr": 0.1})
    return [*_with_weights(baseline, "SimSiam")[:2], second]


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


def _at(entry: Entry, lr: float) -> Entry:
    """Table 8: an arm at another learning rate than its own."""
    arm = _name_arm(entry)
    diverged = DIVERGED if arm == "sa2" and lr >= 0.4 else ""
    about = f"{_shorten(entry)}; learning rate {lr:g}{diverged}"
    return derive(entry, f"{arm}-lr{lr:g}", about, {"optim.lr": lr})


def _name_arm(entry: Entry) -> str:
    """Name what a row is called after its data and network."""
    return entry.recipe.name.rpartition("-")[2]


def _shorten(entry: Entry) -> str:
    """Return what a row is, without what follows a semicolon."""
    return entry.about.partition(";")[0]


def _barlow_twins() -> list[Entry]:
    recipe = _recipe("cifar10", "resnet18", BarlowTwinsSpec())
    # With a small backbone and 2048 wide heads the loss falls at 0.005 and does not at 0.05 (110
    # steps of 128 pairs); at full scale it was never run.
    recipe = change(recipe, {"optim.lr": 0.005, "optim.warmup_epochs": 10.0})
    about = "Barlow Twins: all pairs of views count alike; all of it is ours, the paper has none"
    return _with_weights(Entry(recipe, about, "not known"), "Barlow Twins")


def _small(data: str) -> list[Entry]:
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
    baseline = Entry(recipe, "Small SimSiam: all pairs of views count alike", _SMALL_COST)
    return _with_weights(baseline, "Small SimSiam")
