"""Rows for photographs: the paper's on ImageNet, and small ones on Imagenette."""

from softaug.lab.recipes.augment import WINDOWS_FIRST, Augment, NormalWindows, UniformWindows
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Entry, derive, root, row_name

_COSTS = {
    "imagenet-resnet50": "about 16 V100-days (the paper's: 4 V100s for 4 days)",
    "imagenet-resnet101": "about 30 V100-days (our estimate: the paper's 16 for ResNet-50 times "
    "7.8 / 4.1, the ratio of FLOPs)",
}
_OURS = "; weight decay 1e-4 and Nesterov's momentum are ours, the paper states neither"
# 9,469 images at 262 a second: median of 20 steps, one thread of an AMD EPYC, torch 2.15.
_SMALL_COST = "about 1 hour on one CPU core, without reading the images"


def imagenet_entries() -> list[Entry]:
    """ImageNet with both networks of the paper, controls beside ResNet-50; Imagenette."""
    fifty, larger = (_four_arms(_baseline(model)) for model in _COSTS)
    return [*fifty, *_controls(fifty[1]), *larger, *_imagenette_entries()]


def _baseline(model: str) -> Entry:
    """The usual windows; a policy comes after them in every arm: only what is seen is decoded."""
    recipe = Recipe(
        name=row_name("imagenet", model, "baseline"),
        model=model,
        data=DataSpec("imagenet"),
        augment=Augment(crop=UniformWindows(), order=WINDOWS_FIRST),
        optim=Optim(lr=0.1, weight_decay=1e-4, warmup_epochs=5.0),
        epochs=270,
        batch=256,
    )
    about = f"Baseline: windows of 8 to 100 % of the image, hard labels{_OURS}"
    return root(recipe, about, _COSTS[model])


def _four_arms(hard: Entry) -> list[Entry]:
    """Baseline, Soft Augmentation, and both with RandAugment."""
    soft = _soft(hard, "Soft Augmentation: windows of sigma 0.3, target and weight; no decay")
    after = "with RandAugment after the windows (the paper does not say which goes first)"
    policy = {"augment.policy": "randaugment"}
    return [
        *(hard, soft),
        derive(hard, "randaugment", f"Baseline {after}", policy),
        derive(soft, "soft-randaugment", f"Soft Augmentation {after}", policy),
    ]


def _soft(hard: Entry, about: str) -> Entry:
    crop = NormalWindows(sigma=0.3, k=2.0)
    return derive(hard, "soft", about, {"augment.crop": crop, "loss.soften": "both"})


def _controls(soft: Entry) -> list[Entry]:
    about = "Soft Augmentation with offsets as the paper's formula has them, twice as far"
    literal = derive(soft, "soft-literal-offsets", about, {"augment.crop.offsets": "literal"})
    return [literal, _hard_windows(soft)]


def _hard_windows(soft: Entry) -> Entry:
    about = "The very windows of the soft row, with hard labels"
    return derive(soft, "hard-windows", about, {"loss.soften": "none"})


def _imagenette_entries() -> list[Entry]:
    """For one CPU core: ten classes of ImageNet at 64 pixels."""
    recipe = Recipe(
        name=row_name("imagenette", "resnet8-s2", "baseline"),
        model="resnet8-s2",
        data=DataSpec("imagenette", size=64),
        augment=Augment(crop=UniformWindows(), order=WINDOWS_FIRST),
        optim=Optim(lr=0.05),
        epochs=100,
        batch=64,
    )
    hard = root(recipe, "Small baseline: windows of 8 to 100 % of the image", _SMALL_COST)
    soft = _soft(hard, "Small: Soft Augmentation, target and weight; no decay")
    near = "Small: Soft Augmentation with nearer windows"
    mild = derive(soft, "soft-mild", near, {"augment.crop.sigma": 0.1})
    return [hard, soft, mild, _hard_windows(soft)]
