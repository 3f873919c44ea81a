"""Rows for photographs: the paper's on ImageNet, and small ones on Imagenette."""

from softaug.lab.recipes.augment import WINDOWS_FIRST, Augment, UniformWindows
from softaug.lab.recipes.config import DataSpec, Optim, Recipe
from softaug.lab.recipes.rows import Entry, derive_arms, read_arms, row_name

_COSTS = {
    "imagenet-resnet50": "about 16 V100-days (the paper's: 4 V100s for 4 days)",
    "imagenet-resnet101": "about 30 V100-days (our estimate: the paper's 16 for ResNet-50 times "
    "7.8 / 4.1, the ratio of FLOPs)",
}
# 9,469 images at 262 a second: median of 20 steps, one thread of an AMD EPYC, torch 2.15.
_SMALL_COST = "about 1 hour on one CPU core, reading aside"


def imagenet_entries() -> list[Entry]:
    """List ImageNet with both networks of the paper, controls beside ResNet-50; Imagenette."""
    usual = "windows of 8 to 100 % of the image"
    ours = "weight decay 1e-4 and Nesterov's momentum are ours, the paper states neither"
    about = f"Baseline: {usual}, hard labels; {ours}"
    data, optim = DataSpec("imagenet"), Optim(lr=0.1, weight_decay=1e-4, warmup_epochs=5.0)
    fifty, larger = (
        Entry(_baseline(data, model, optim, epochs=270, batch=256), about, cost)
        for model, cost in _COSTS.items()
    )
    data = DataSpec("imagenette", size=64)  # ten classes, for one CPU core
    small = _baseline(data, "resnet8-s2", Optim(lr=0.05), epochs=100, batch=64)
    return [
        *_with_arms(fifty, "imagenet", "imagenet-resnet50"),
        *_with_arms(larger, "imagenet"),
        *_with_arms(Entry(small, f"Small baseline: {usual}", _SMALL_COST), "imagenette"),
    ]


def _baseline(data: DataSpec, model: str, optim: Optim, epochs: int, batch: int) -> Recipe:
    """The usual windows; a policy comes after them in every arm: only what is seen is decoded."""
    augment = Augment(crop=UniformWindows(), order=WINDOWS_FIRST)
    name = row_name(data.name, model, "baseline")
    return Recipe(name, model, data, augment, optim=optim, epochs=epochs, batch=batch)


def _with_arms(baseline: Entry, *families: str) -> list[Entry]:
    rows = {"baseline": baseline}
    for family in families:
        rows |= derive_arms(rows, read_arms(family))
    return list(rows.values())
