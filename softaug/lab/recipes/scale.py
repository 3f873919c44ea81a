"""What a recipe becomes where there is less compute than the paper had.

docs/guide/reproduce.md has it as a table. What it does not name is the row's own at every scale:
sigma, k, alpha, what softens, the policy. Digits have half of CIFAR's edge, and so have the
lengths in pixels of their crops and patches.
"""

from dataclasses import replace
from typing import Literal, get_args

from softaug.lab.recipes.augment import WINDOWS, Augment, UniformOffsets
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import (
    SIBLING,
    AnyRecipe,
    DataSpec,
    Finetune,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    Uncertainty,
)
from softaug.lab.recipes.paper_numbers import PaperTable
from softaug.lab.recipes.rows import learner_name

Scale = Literal["paper", "cpu", "smoke"]
SCALES: tuple[Scale, ...] = get_args(Scale)
SMALL_NET = "resnet8-s2"
STANDS_FOR = ("resnet18", "wrn28-10", "imagenet-resnet50")
PER_CLASS = {"cifar10": 500, "cifar100": 100, "imagenette": 100}
EPOCHS = {"cifar10": 40, "cifar100": 40, "imagenette": 60}
PHOTOS = "imagenette"
PAPER_LR = 0.2  # SimSiam's


def scaled(
    table: PaperTable, scale: Scale, photos: str = PHOTOS
) -> tuple[dict[str, AnyRecipe], dict[str, str]]:
    """Return the recipes of a table at a scale, by name in the catalog, and why others have none.

    Recipes of a study are of the cpu scale. No table has a row twice: of networks that become
    the same one, the first has it.
    """
    recipes: dict[str, AnyRecipe] = {}
    reasons: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in table.recipes:
        recipe: AnyRecipe | str = find(name).recipe
        if not table.of_paper and scale == "paper":
            recipe = "a study of ours for the scale cpu"
        elif table.of_paper or scale == "smoke":
            recipe = at_scale(find(name).recipe, scale, photos)
        if isinstance(recipe, str):
            reasons[name] = recipe
        elif (first := taken.setdefault(recipe.name, name)) != name:
            reasons[name] = f"it would be {recipe.name}, which stands for {first} already"
        else:
            recipes[name] = recipe
    return recipes, reasons


def at_scale(recipe: AnyRecipe, scale: Scale, photos: str = PHOTOS) -> AnyRecipe | str:
    """Return the recipe at a scale, under a name that says so, or the reason why there is none.

    `photos` is the data set that takes the place of ImageNet at the smoke scale.
    """
    if scale == "paper":
        return recipe
    if scale == "smoke":
        return _smoke(recipe, photos)
    if recipe.model not in STANDS_FOR:
        return f"no small network stands for {recipe.model}"
    return _cpu_pairs(recipe) if isinstance(recipe, PretrainRecipe) else _cpu(recipe)


def _arm(recipe: AnyRecipe) -> str:
    """Return the row's name after its data and network."""
    learner = learner_name(recipe).removeprefix(f"{recipe.data.name}-")
    return recipe.name.removeprefix(f"{recipe.data.name}-{learner}-")


def _cpu(recipe: Recipe) -> Recipe:
    data, arm = recipe.data.name, _arm(recipe)
    if data == "imagenet":
        data = PHOTOS
        small = find(f"{PHOTOS}-{SMALL_NET}-baseline").recipe
        assert isinstance(small, Recipe)
        recipe = replace(small, augment=recipe.augment, loss=recipe.loss)
    return replace(
        recipe,
        name=f"cpu-{data}-{SMALL_NET}-{arm}",
        model=SMALL_NET,
        data=replace(recipe.data, per_class=PER_CLASS[data]),
        epochs=EPOCHS[data],
    )


def _cpu_pairs(recipe: PretrainRecipe) -> PretrainRecipe:
    """The catalogue's small row with the weights of this one; learning rates keep their ratio."""
    small = find(f"{recipe.data.name}-simsiam-{SMALL_NET}-baseline").recipe
    assert isinstance(small, PretrainRecipe)
    lr = small.optim.lr * recipe.optim.lr / PAPER_LR
    return replace(
        small,
        name=f"cpu-{recipe.data.name}-simsiam-{SMALL_NET}-{_arm(recipe)}",
        weight=recipe.weight,
        optim=replace(small.optim, lr=round(lr, 6)),
    )


def _smoke(recipe: AnyRecipe, photos: str) -> AnyRecipe:
    digits = DataSpec("digits", per_class=10)
    if isinstance(recipe, PretrainRecipe):
        return replace(
            recipe,
            name=f"smoke-{recipe.name}",
            model="resnet8",
            data=digits,
            method=SimSiamSpec(hidden=16, bottleneck=4, num_layers=2),
            epochs=1,
            batch=50,
            probe=ProbeSpec(epochs=1, batch=50),
        )
    of_photos = isinstance(recipe.augment.crop, WINDOWS)
    return replace(
        recipe,
        name=f"smoke-{recipe.name}",
        model="resnet8",
        data=DataSpec(photos, per_class=4, size=32) if of_photos else digits,
        augment=recipe.augment if of_photos else _for_digits(recipe.augment),
        loss=replace(recipe.loss, prior="uniform"),  # others are of the row's own classes
        uncertainty=_for_a_moment(recipe.uncertainty),
        optim=replace(recipe.optim, warmup_epochs=0.0),
        finetune=_smoke_finetune(recipe.finetune),
        epochs=1,
        batch=20 if of_photos else 50,
        members=min(recipe.members, 2),
    )


def _smoke_finetune(finetune: Finetune) -> Finetune:
    """Begin from the run of that name at this scale."""
    weights = finetune.weights or ""
    if not weights.startswith(SIBLING):
        return finetune
    return replace(finetune, weights=f"{SIBLING}smoke-{weights.removeprefix(SIBLING)}")


def _for_a_moment(uncertainty: Uncertainty) -> Uncertainty:
    """Outliers that need no download, in the one epoch that there is."""
    if uncertainty.method != "energy":
        return uncertainty
    return replace(uncertainty, outliers="fashion-mini", outlier_share=1.0)


def _for_digits(augment: Augment) -> Augment:
    """Halve lengths in pixels for images of half the edge."""
    crop, cutout = augment.crop, augment.cutout
    if isinstance(crop, UniformOffsets):
        crop = replace(crop, max_shift=crop.max_shift // 2)
    return replace(augment, crop=crop, cutout=replace(cutout, length=cutout.length // 2))
