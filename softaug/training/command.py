"""The command `softaug train`: a named recipe, any setting of it changed on the way."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.recipes import AnyRecipe, PretrainRecipe, Recipe, find, from_dict
from softaug.training.members import train_members
from softaug.training.options import RunOptions
from softaug.training.selfsupervised import pretrain
from softaug.training.supervised import train

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
