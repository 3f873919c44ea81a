"""Rows for small images: the paper's on CIFAR, ResNet-18's ablations and rivals, CPU-scale ones."""

from dataclasses import replace
from itertools import product
from typing import Any

from softaug.lab.recipes.augment import MIX_ALPHA, Augment, NormalOffsets, UniformOffsets
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Arm, Arms, Entry, derive, derive_arms, read_arms

SIGMAS = (0.1, 0.2, 0.3, 0.4)
ALPHAS = (0.0, 0.1, 0.2, 0.3)
KS = (1, 2, 3, 4)
FOCAL_GAMMAS = (1, 2, 5)
MODELS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")
_UNSTATED = "not stated in the paper"
_OPTIM = {"efficientnet-b0": Optim(lr=0.025)}
_COSTS = {
    "resnet18": "2.5 V100-hours (the paper's)",
    "resnet50": "7 V100-hours (the paper's)",
    "wrn28-10": "9 V100-hours (the paper's)",
    "pyramidnet272": f"{_UNSTATED}, which used 2 V100s",
}
_REMARKS = {
    "efficientnet-b0": "; learning rate 0.025, the paper's",
    "pyramidnet272": "; learning rate 0.1, as the paper says of all ResNet-like models",
}


def paper_entries() -> list[Entry]:
    """Every network on both data sets, with the arms that the paper has, and TrivialAugment."""
    return [
        row
        for data in ("cifar100", "cifar10")
        for model in MODELS
        for row in paper_rows(data, model).values()
    ]


def paper_rows(data: str, model: str) -> dict[str, Entry]:
    """Return the arms of a network: hard, soft, each with RandAugment; WRN's and PyramidNet's own.

    The baseline has offsets of up to 4 pixels, flips and hard labels.
    """
    recipe = Recipe(
        name=f"{data}-{model}-hard",
        model=model,
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=_OPTIM.get(model, Optim(lr=0.1)),
        epochs=500,
        batch=128,
    )
    remark = _REMARKS.get(model, "")
    about = f"Baseline: hard crops of up to 4 pixels{remark}"
    hard = Entry(recipe, about, _COSTS.get(model, _UNSTATED))
    own = read_arms(model) if model in ("wrn28-10", "pyramidnet272") else {}
    rivals = read_arms(f"{model}-{data}") if model == "wrn28-10" else {}
    arms = {**read_arms("paper"), **own, **rivals}
    if data == "cifar100":  # sigma decays there only, as the text says
        arms |= read_arms("paper-cifar100")
    remarked = {arm: (of, line + remark, changes) for arm, (of, line, changes) in arms.items()}
    rows = {"hard": hard, **derive_arms({"hard": hard}, remarked)}
    if "ensemble" in rows:
        rows["ensemble"] = replace(rows["ensemble"], cost=f"5 runs, each {hard.cost}")
    return rows


RELEASE = "-release"  # how a row is called that has the release's settings
RELEASE_EVALUATES = 5  # epochs between its evaluations, of which it reports the best
_LAST = 21 / 501  # of its epochs: sigma / 1000, Cutout and Mixup off


def release_entry(entry: Entry) -> Entry | None:
    """Return the row with the release's settings in place of the paper's; None where it has none.

    Those that differ: sigma 0.375 (12 of 32 pixels in its commands), each loss times the mean
    weight of the batch, black padding and RandAugment after the crop for hard crops, 501 epochs,
    and the last 21 without Mixup, Cutout and offsets, on either data set. Its cosine falls in each
    step to 0 after 501 epochs, as ours does.
    """
    recipe = entry.recipe
    assert isinstance(recipe, Recipe), "rows of CIFAR have labels"
    augment, loss = recipe.augment, recipe.loss
    if (
        recipe.model == "efficientnet-b0"
        or augment.policy not in ("none", "randaugment")
        or augment.noise.sigma
        or loss.online_smoothing
        or recipe.members > 1
        or recipe.uncertainty.method != "none"
    ):
        return None
    changes: dict[str, Any] = {"epochs": 501}
    ends = [("cutout.length", 0.0, _LAST)] if augment.cutout.length else []
    if isinstance(augment.crop, NormalOffsets):
        changes["augment.crop.sigma"] = 0.375
        ends.append(("crop.sigma", 0.001, _LAST))
    else:
        changes["augment.crop.fill"] = "black"
        changes["augment.order"] = ("flip", "crop", "policy", "noise", "cutout")
    if recipe.mix.kind != "none":
        ends.append((MIX_ALPHA, 0.0, _LAST))
    if loss.soften in ("weight", "both"):
        changes["loss.weighting"] = "batch_mean"
    arm = recipe.name.removeprefix(f"{recipe.data.name}-{recipe.model}-") + RELEASE
    about = f"{entry.about.partition(';')[0]}; with the release's settings"
    return derive(entry, arm, about, {**changes, "augment.schedules": tuple(ends)})


def release_entries() -> list[Entry]:
    """Return the rows of the release's methods that have a number in the paper, as released."""
    rows = [*paper_entries(), *ablation_entries()]
    made = [release_entry(e) for e in rows if e.paper and "-figure3-" not in e.recipe.name]
    return [entry for entry in made if entry is not None]


def ablation_entries() -> list[Entry]:
    """Return other methods, parts of the method, parts of the release and Figure 3's grid."""
    rows = paper_rows("cifar100", "resnet18")
    arms = {**read_arms("cifar100-resnet18"), **_figure3_arms()}
    return list(derive_arms(rows, arms).values())


def _figure3_arms() -> Arms:
    """Normal crops of each sigma: hard and smoothed labels, then what softens, at each k."""
    arms: dict[str, Arm] = {}
    for alpha, sigma in product(ALPHAS, SIGMAS):
        arms[f"figure3-smoothing{alpha:g}-sigma{sigma:g}"] = (
            "soft",
            f"Figure 3, left: crops of sigma {sigma:g}, hard labels smoothed by {alpha:g}",
            {
                "augment.crop": NormalOffsets(sigma),
                "loss.soften": "none",
                "loss.label_smoothing": alpha,
            },
        )
    parts = {
        "target": "the target softens",
        "weight": "the weight softens",
        "both": "target and weight soften",
    }
    for (part, words), k, sigma in product(parts.items(), KS, SIGMAS):
        arms[f"figure3-{part}-k{k}-sigma{sigma:g}"] = (
            "soft",
            f"Figure 3: crops of sigma {sigma:g}, {words} with k = {k}",
            {"augment.crop": NormalOffsets(sigma, float(k)), "loss.soften": part},
        )
    return arms


# From training steps alone: 620 and 1500 images a second, one thread of an AMD EPYC, torch 2.15.
_CIFAR_COST = "about 40 minutes on one CPU core"
_DIGITS_COST = "about 10 seconds on one CPU core"


def cpu_scale_entries() -> list[Entry]:
    """Return small networks on CIFAR-100 and CIFAR-10, a vision transformer, and digits."""
    return [*_small_rows("cifar100"), *_small_rows("cifar10"), *_vit_rows("cifar10"), *_digits()]


def _small_rows(data: str) -> list[Entry]:
    recipe = Recipe(
        name=f"{data}-resnet8-s2-hard",
        model="resnet8-s2",
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        epochs=30,
        batch=128,
    )
    hard = Entry(recipe, "Small baseline: hard crops of up to 4 pixels", _CIFAR_COST)
    arms = {**read_arms("resnet8-s2"), **read_arms(f"{data}-resnet8-s2")}
    return [hard, *derive_arms({"hard": hard}, arms).values()]


def _vit_rows(data: str) -> list[Entry]:
    """A vision transformer by AdamW and warm-up; `--weights` begins from one that was trained."""
    recipe = Recipe(
        name=f"{data}-vit-tiny-32-hard",
        model="vit-tiny-32",
        data=DataSpec(data),
        augment=Augment(crop=UniformOffsets(4)),
        optim=Optim(name="AdamW", lr=1e-3, weight_decay=0.05, warmup_epochs=5.0, clip_norm=1.0),
        epochs=100,
        batch=128,
    )
    about = "Vision transformer: AdamW, warm-up, hard crops of up to 4 pixels; settings untuned"
    hard = Entry(recipe, about, "about 18 hours on one CPU core; not run to its end here")
    return [hard, *derive_arms({"hard": hard}, read_arms("vit")).values()]


def _digits() -> list[Entry]:
    """Digits are not flipped (a 2 is no 2 then), and their background is black."""
    recipe = Recipe(
        name="digits-resnet8-hard",
        model="resnet8",
        data=DataSpec("digits", per_class=20),
        augment=Augment(crop=UniformOffsets(1, fill="black"), flip=False),
        epochs=60,
        batch=50,
    )
    about = "Digits: hard crops of up to 1 of 16 pixels, 20 images a class"
    hard = Entry(recipe, about, _DIGITS_COST)
    return [hard, *derive_arms({"hard": hard}, read_arms("digits")).values()]
