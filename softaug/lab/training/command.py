"""The command `softaug train`: a named recipe, any setting of it changed on the way."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.recipes import AnyRecipe, PretrainRecipe, Recipe, find, from_dict
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.ssl import pretrain
from softaug.lab.training.supervised import train

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


USAGE = """usage: softaug train RECIPE [OPTIONS]

Train a recipe; the same command again goes on where it stopped.

  softaug train digits-resnet8-soft             a small one, nothing to download
  softaug train digits-resnet8-soft --help      every setting of it, to be changed here
  softaug train runs/NAME-seed0/recipe.json --out NEW     the recipe of an earlier run
  torchrun --nproc-per-node 2 -m softaug train RECIPE ...    several processes
  softaug recipes                               all recipes"""


@dataclass(frozen=True)
class TrainCommand:
    """Train a recipe; the same command again goes on where it stopped."""

    options: Annotated[RunOptions, tyro.conf.arg(name="")]
    recipe: Annotated[Recipe, tyro.conf.arg(name="")]


@dataclass(frozen=True)
class PretrainCommand:
    """Train a recipe without labels; the same command again goes on where it stopped."""

    options: Annotated[RunOptions, tyro.conf.arg(name="")]
    recipe: Annotated[PretrainRecipe, tyro.conf.arg(name="")]


class Trained(NamedTuple):
    """What was trained: one run, or the members of an ensemble."""

    recipe: AnyRecipe
    options: RunOptions
    folders: list[Path]


def train_command(arguments: Sequence[str]) -> Trained:
    """Run `softaug train` with these arguments."""
    console = Console(quiet=os.environ.get("RANK", "0") != "0")  # one of many processes speaks
    if not arguments or arguments[0].startswith("-"):
        print(USAGE)
        raise SystemExit(0 if "-h" in arguments or "--help" in arguments else 2)
    name, *changes = arguments
    recipe, options = _changed(read_recipe(name), name, changes)
    if isinstance(recipe, Recipe) and recipe.members > 1:
        return Trained(recipe, options, train_members(recipe, options, console))
    folder = options.folder(recipe)
    if isinstance(recipe, Recipe):
        told = _labels_told(train(recipe, options, console))
    else:
        told = _views_told(pretrain(recipe, options, console), folder)
    console.print(f"{told}; {folder / 'result.json'}", highlight=False, soft_wrap=True)
    return Trained(recipe, options, [folder])


def _changed(recipe: AnyRecipe, name: str, changes: Sequence[str]) -> tuple[AnyRecipe, RunOptions]:
    """The recipe with the settings that the command line changes, and the options there."""
    default = (
        TrainCommand(RunOptions(), recipe)
        if isinstance(recipe, Recipe)
        else PretrainCommand(RunOptions(), recipe)
    )
    chosen = tyro.cli(
        type(default),
        prog=f"softaug train {name}",
        args=changes,
        default=default,
        config=(tyro.conf.AvoidSubcommands,),
    )
    return chosen.recipe, chosen.options


def _labels_told(result: Mapping[str, Any]) -> str:
    return (
        f"{result['split']} error {result['error']:.2%}, NLL {result['nll']:.3f}, "
        f"ECE {result['ece']:.2%}"
    )


def _views_told(result: Mapping[str, Any], folder: Path) -> str:
    return (
        f"{result['split']} error of nearest neighbours {result['knn_error']:.2%}, feature std "
        f"{result['train_feature_std']:.2f}; `softaug evaluate {folder}` trains the probe"
    )


def read_recipe(name: str) -> AnyRecipe:
    """The recipe of that name, or in that JSON file."""
    if not name.endswith(".json"):
        return find(name).recipe
    path = Path(name)
    if not path.is_file():
        refuse("train", f"{path} must be a recipe.json", "no such file")
    try:
        content = json.loads(path.read_text())
    except ValueError as broken:
        raise ValueError(f"train: {name} must be a recipe in JSON, got {broken}") from broken
    return from_dict(content)
