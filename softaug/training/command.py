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
from softaug.recipes import Recipe, find, from_dict
from softaug.training.members import train_members
from softaug.training.options import RunOptions
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


class Trained(NamedTuple):
    """What was trained: one run, or the members of an ensemble."""

    recipe: Recipe
    options: RunOptions
    folders: list[Path]


def train_command(arguments: Sequence[str]) -> Trained:
    """Run `softaug train` with these arguments."""
    console = Console(quiet=os.environ.get("RANK", "0") != "0")  # one of many processes speaks
    if not arguments or arguments[0].startswith("-"):
        print(USAGE)
        raise SystemExit(0 if "-h" in arguments or "--help" in arguments else 2)
    name, *changes = arguments
    chosen = tyro.cli(
        TrainCommand,
        prog=f"softaug train {name}",
        args=changes,
        default=TrainCommand(RunOptions(), read_recipe(name)),
        config=(tyro.conf.AvoidSubcommands,),
    )
    recipe, options = chosen.recipe, chosen.options
    if recipe.members > 1:
        return Trained(recipe, options, train_members(recipe, options, console))
    folder = options.folder(recipe)
    _print_result(train(recipe, options, console), folder, console)
    return Trained(recipe, options, [folder])


def _print_result(result: Mapping[str, Any], folder: Path, console: Console) -> None:
    console.print(
        f"{result['split']} error {result['error']:.2%}, NLL {result['nll']:.3f}, "
        f"ECE {result['ece']:.2%}; {folder / 'result.json'}",
        highlight=False,
        soft_wrap=True,
    )


def read_recipe(name: str) -> Recipe:
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
