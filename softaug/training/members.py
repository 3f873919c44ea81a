"""An ensemble is several runs of one recipe, each by a seed of its own."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from softaug.recipes.recipe import Recipe
from softaug.training.options import RunOptions
from softaug.training.supervised import train

SUFFIX = "-ensemble"
MEMBER = "member-seed"


def members(recipe: Recipe) -> list[Recipe]:
    """The recipe of each network; ensembles of different seeds share none.

    >>> five = Recipe("cifar10-resnet18-ensemble", "resnet18", seed=1, members=5)
    >>> [(member.name, member.seed) for member in members(five)][:2]
    [('cifar10-resnet18', 5), ('cifar10-resnet18', 6)]
    """
    name = recipe.name.removesuffix(SUFFIX)  # `softaug evaluate --ensemble` adds it again
    first = recipe.seed * recipe.members
    seeds = range(first, first + recipe.members)
    return [replace(recipe, name=name, seed=seed, members=1) for seed in seeds]


def train_members(recipe: Recipe, options: RunOptions, console: Console) -> list[Path]:
    """Train each network of an ensemble in a folder inside the ensemble's; where they are."""
    folders = []
    for member in members(recipe):
        folder = options.folder(recipe) / f"{MEMBER}{member.seed}"
        console.print(f"member of seed {member.seed}: {folder}", highlight=False, soft_wrap=True)
        train(member, replace(options, out=folder), console)
        folders.append(folder)
    return folders


def member_folders(folder: Path) -> list[Path]:
    """The networks in an ensemble's folder, in the order of their seeds; none in another."""
    found = (path for path in folder.glob(f"{MEMBER}*") if path.is_dir())
    return sorted(found, key=lambda path: (len(path.name), path.name))  # 10 after 9
