"""A recipe for any folder of classes: the defaults of `softaug train FOLDER`."""

import re
from pathlib import Path

from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.check import describe_sizes, read_sizes, short_edge
from softaug.lab.data.datasets import FOLDER
from softaug.lab.data.folder import FolderImages, open_folder
from softaug.lab.data.windows import format_list
from softaug.lab.progress import print_plain
from softaug.lab.recipes import (
    Augment,
    DataSpec,
    LossSpec,
    NormalOffsets,
    NormalWindows,
    Optim,
    Recipe,
    entries,
)
from softaug.lab.recipes.augment import WINDOWS_FIRST
from softaug.lab.recipes.serialize import RECIPE

TEST_SHARE = 0.2
SMALL = 64  # pixels: images of at most this short edge are no photographs
TOTAL = 200_000  # training images that a run sees, in so many epochs
EPOCHS = 15, 100  # least and most
# Of our studies of 5,000 images: farther crops need more epochs (docs/results/evidence.md).
SHORT_EPOCHS, NEAR, FAR = 20, 0.05, 0.1


def is_folder(name: str) -> bool:
    """Whether `softaug train NAME` is about a folder, not a recipe of that name."""
    names = (entry.recipe.name for entry in entries())
    return Path(name.removeprefix(FOLDER)).is_dir() and name not in names


def choose_recipe(name: str, console: Console) -> Recipe:
    """Choose split, size, network, crop and epochs by the images; refuse files that are broken."""
    path = Path(name.removeprefix(FOLDER)).resolve()
    if (path / RECIPE).is_file():
        refuse("train", "a folder must hold images", f"a run in {name}", f"name {name}/{RECIPE}")
    data, sizes = open_folder(path, size=SMALL), list[tuple[int, int]]()
    for source in (data.train, data.test):
        if isinstance(source, FolderImages):
            source_sizes, errors = read_sizes(source, console)
            if errors:
                got = f"{len(errors)} that cannot: {format_list(errors)}"
                refuse(
                    "train", f"files of {path} must be images that can be read", got, "remove them"
                )
            sizes += source_sizes
    edge, test_share = short_edge(sizes), 0.0 if data.test is not None else TEST_SHARE
    num = round(len(data.train.labels) * (1 - test_share))
    epochs = min(max(round(TOTAL / num), EPOCHS[0]), EPOCHS[1])
    sigma = NEAR if epochs <= SHORT_EPOCHS else FAR
    size = 32 if edge <= 48 else 64
    print_plain(console, f"{path}: {describe_sizes(sizes)}")
    augment = Augment(crop=NormalOffsets(sigma, k=1.0))
    if edge > SMALL:
        augment = Augment(crop=NormalWindows(sigma, k=1.0), order=WINDOWS_FIRST)
    return Recipe(
        name=re.sub(r"\W+", "-", path.name).strip("-") or "images",
        model="resnet20" if size == 32 else "resnet8-s2",
        data=DataSpec(f"{FOLDER}{path}", size=size, test_share=test_share),
        augment=augment,
        loss=LossSpec(soften="target"),
        optim=Optim(lr=0.1 if size == 32 else 0.05),
        epochs=epochs,
        batch=32,
    )


def describe_choice(recipe: Recipe) -> str:
    """Say what a run on a folder will be, and what changes it."""
    data, crop = recipe.data, recipe.augment.crop
    split = f"{data.test_share:.0%} of each class held out (seed {data.seed})"
    sigma = f"sigma {getattr(crop, 'sigma', 0):g}, k {crop.k}, soften {recipe.loss.soften}"
    lines = {
        "test": (split if data.test_share else "its own val or test", "--data.test-share 0.1"),
        "size": (f"{data.size} x {data.size} pixels", "--data.size 224"),
        "network": (
            recipe.model,
            "--model imagenet-resnet50 --weights FILE (docs/guide/training.md)",
        ),
        "crops": (
            f"{type(crop).__name__} of {sigma}; flips {recipe.augment.flip}",
            "--augment.crop.sigma 0.2 --augment.no-flip",
        ),
        "training": (
            f"{recipe.epochs} epochs, learning rate {recipe.optim.lr:g}",
            "--epochs 100 --optim.lr 0.05",
        ),
    }
    width = max(len(what) for what, _ in lines.values())
    return "\n".join(f"{name + ':':9} {what:{width}}  {how}" for name, (what, how) in lines.items())
