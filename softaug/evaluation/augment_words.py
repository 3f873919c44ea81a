"""What a recipe does to images and labels, in words."""

from softaug.recipes.crops import Crop, NormalOffsets, NormalWindows, UniformOffsets
from softaug.recipes.recipe import Augment, Recipe

LABELS = {
    "none": "hard labels",
    "target": "soft targets",
    "weight": "soft weights",
    "both": "soft targets and weights",
}


def describe_augment(recipe: Recipe, size: int) -> str:
    """What is done to images of edge `size` and to their labels.

    >>> from softaug.recipes import find
    >>> describe_augment(find("cifar100-resnet18-soft").recipe, 32)
    'flip, crop (offsets normal, sd 0.3 edges; k = 2), soft targets and weights'
    >>> describe_augment(find("cifar100-resnet18-mixup").recipe, 32)
    'flip, crop (offsets up to 4 of 32 pixels; k = 2), mixup (not drawn), hard labels'
    """
    words = _step_words(recipe.augment, size)
    steps = [words[step] for step in recipe.augment.order if words[step]]
    mixed = [] if recipe.mix.kind == "none" else [f"{recipe.mix.kind} (not drawn)"]
    return ", ".join([*steps, *mixed, LABELS[recipe.loss.soften]])


def _step_words(augment: Augment, size: int) -> dict[str, str]:
    noise, cutout = augment.noise, augment.cutout
    curves = "" if augment.curves is None else f" ({augment.curves} curves)"
    return {
        "policy": "" if augment.policy == "none" else augment.policy + curves,
        "flip": "flip" if augment.flip else "",
        "crop": f"crop ({_crop_words(augment.crop, size)}{_k(augment.crop.k)}{_pace(augment)})",
        "noise": f"noise (sd {noise.sigma * noise.noise_sd:g}{_k(noise.k)})" if noise.sigma else "",
        "cutout": f"cutout ({cutout.length} pixels{_k(cutout.k)})" if cutout.length else "",
    }


def _pace(augment: Augment) -> str:
    pace = augment.pace
    own = "" if pace.by == "all" else f", each {pace.by} its own"
    return f"; at first, then paced by {pace.rule}{own}" if pace.on else ""


def _crop_words(crop: Crop, size: int) -> str:
    if isinstance(crop, NormalOffsets):
        return f"offsets normal, sd {crop.sigma:g} edges"
    if isinstance(crop, UniformOffsets):
        return f"offsets up to {crop.reach} of {size} pixels"
    if isinstance(crop, NormalWindows):
        return f"windows of normal size and place, sigma {crop.sigma:g}{_window_options(crop)}"
    least, most = crop.scale
    return f"windows of {100 * least:g} to {100 * most:g} % of the image"


def _window_options(crop: NormalWindows) -> str:
    """What is not as usual."""
    usual = NormalWindows()
    names = ("min_size", "offsets", "relative_to", "share_of", "antialias")
    changed = [name for name in names if getattr(crop, name) != getattr(usual, name)]
    return "".join(f", {name} {getattr(crop, name)}" for name in changed)


def _k(k: float | None) -> str:
    return "; labels whole" if k is None else f"; k = {k:g}"
