"""Training a recipe: one run, the members of an ensemble, and the command `softaug train`."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import torch
import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.io import write_json
from softaug.lab.progress import print_plain
from softaug.lab.recipes import AnyRecipe, Recipe, as_dict, find
from softaug.lab.recipes.serialize import read_recipe
from softaug.lab.schema import seal
from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.distributed import SINGLE, DistContext, init_distributed
from softaug.lab.training.evaluate import workers_for
from softaug.lab.training.from_folder import choose_recipe, describe_choice, is_folder
from softaug.lab.training.logging import RESULT, environment
from softaug.lab.training.run_dir import (
    RunOptions,
    begin_run,
    lock_run_dir,
    read_result,
)
from softaug.lab.training.setup import TrainingData, load_data, prepare_machine
from softaug.lab.training.ssl import SelfSupervised
from softaug.lab.training.supervised import Supervised
from softaug.lab.training.trainer import OnEpoch, Trainer

SUFFIX = "-ensemble"
MEMBER = "member-seed"
SCHEMA = 1  # of result.json


def train(
    recipe: AnyRecipe, options: RunOptions, console: Console, on_epoch: OnEpoch | None = None
) -> dict[str, Any]:
    """Train `recipe`, from the folder's last checkpoint if it has one; return the result.

    A finished run is only read. Under torchrun every process calls this. `on_epoch` is called with
    the numbers of each row of metrics.jsonl.
    """
    if isinstance(recipe, Recipe) and recipe.members > 1:
        remedy = "train each of softaug.lab.training.command.members(recipe)"
        refuse("train", "a run has one network", f"{recipe.members} members", remedy)
    folder = options.folder(recipe)

    def end() -> dict[str, Any]:
        result = describe_result(recipe, trainer)
        write_json(seal(result), folder / RESULT, indent=2)
        return result

    with init_distributed(options.device) as context:
        console = console if context.is_rank_zero else Console(quiet=True)
        prepare_machine(recipe, options)
        result = context.run_on_rank_zero(lambda: read_result(folder, recipe))
        if result is not None:
            print_plain(console, f"{folder} is finished")
            return result
        data = load_data(recipe, options.data_dir)
        workers = workers_for(data.train) if options.workers is None else options.workers
        task = build_task(recipe, data, context, workers, folder.parent, options.data_dir)
        trainer = Trainer(
            recipe,
            data,
            task,
            context=context,
            run_dir=folder,
            options=options,
            console=console,
            on_epoch=on_epoch,
        )
        with context.enter_on_rank_zero(lock_run_dir(folder)):
            trainer.identity = context.run_on_rank_zero(lambda: begin_run(folder, recipe))
            trainer.resume()
            trainer.train()
            trainer.finalize()
            return context.run_on_rank_zero(end)


def build_task(
    recipe: AnyRecipe,
    data: TrainingData,
    context: DistContext = SINGLE,
    workers: int = 0,
    runs: Path | None = None,
    data_dir: Path | None = None,
) -> Supervised | SelfSupervised:
    """Build what a recipe learns; `runs` is where runs beside its own are, `data_dir` the data."""
    if isinstance(recipe, Recipe):
        return Supervised(recipe, data, context, workers, runs, data_dir)
    return SelfSupervised(recipe, data, context, workers)


def describe_result(recipe: AnyRecipe, trainer: Trainer) -> dict[str, Any]:
    """Describe a run that has taken its last step: the content of result.json."""
    data, last_epoch, num_train = trainer.data, trainer.last_epoch, trainer.batches.num
    device, run_dir = trainer.context.device, trainer.run_dir
    assert run_dir is not None, "it has been trained in"
    last = checkpoint.steps(run_dir / CHECKPOINTS)[-1].relative_to(run_dir)
    return {
        "schema": SCHEMA,
        "recipe": as_dict(recipe),
        **trainer.identity,
        "seed": recipe.seed,
        "split": data.split,
        **trainer.evaluated,
        "train_loss": last_epoch.mean_loss,
        f"train_{trainer.task.train_metric}": last_epoch.mean_metric,
        "files_sha256": trainer.task.file_hashes(),
        "skipped": trainer.skipped.files,
        "num_train": num_train,
        "num_measured": len(data.measured.labels),
        "num_classes": len(data.class_names),
        "num_parameters": sum(part.numel() for part in trainer.net.parameters()),
        "weights": str(last / f"{'ema' if trainer.ema else 'model'}.safetensors"),
        "seconds": round(trainer.seconds, 1),
        "images_per_second": round(recipe.epochs * num_train / trainer.seconds, 1),
        "processes": trainer.context.world_size,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "environment": environment(),
    }


def members(recipe: Recipe) -> list[Recipe]:
    """Return the recipe of each network; ensembles of different seeds share none.

    >>> five = Recipe("cifar10-resnet18-ensemble", "resnet18", seed=1, members=5)
    >>> [(member.name, member.seed) for member in members(five)][:2]
    [('cifar10-resnet18', 5), ('cifar10-resnet18', 6)]
    """
    name = recipe.name.removesuffix(SUFFIX)  # `softaug evaluate --ensemble` adds it again
    first = recipe.seed * recipe.members
    seeds = range(first, first + recipe.members)
    return [replace(recipe, name=name, seed=seed, members=1) for seed in seeds]


def train_members(recipe: Recipe, options: RunOptions, console: Console) -> list[Path]:
    """Train each network of an ensemble in a folder inside the ensemble's; return the folders."""
    folders = []
    for member in members(recipe):
        folder = options.folder(recipe) / f"{MEMBER}{member.seed}"
        print_plain(console, f"member of seed {member.seed}: {folder}")
        train(member, replace(options, out=folder), console)
        folders.append(folder)
    return folders


def member_folders(folder: Path) -> list[Path]:
    """List the folders of an ensemble's networks in the order of their seeds."""
    folders = (path for path in folder.glob(f"{MEMBER}*") if path.is_dir())
    return sorted(folders, key=lambda path: (len(path.name), path.name))  # 10 after 9


USAGE = """usage: softaug train RECIPE [OPTIONS]

Train a recipe; the same command again goes on where it stopped.

  softaug train digits-resnet8-soft             a small one, nothing to download
  softaug train digits-resnet8-soft --help      every setting of it, to be changed here
  softaug train runs/NAME-seed0/recipe.json --out NEW     the recipe of an earlier run
  softaug train PATH/TO/IMAGES                  a folder of classes; says what it chose
  softaug train RECIPE --weights FILE           fine-tune; --freeze backbone, --layer-decay 0.75
  torchrun --nproc-per-node 2 -m softaug train RECIPE ...    several processes
  softaug recipes                               all recipes"""


SHORT = re.compile(r"^--(weights|freeze|layer[-_]decay)(?=$|=)")  # of fine-tuning
R = TypeVar("R", bound=AnyRecipe)


@dataclass(frozen=True)
class Arguments(Generic[R]):
    """Train a recipe; the same command again goes on where it stopped."""

    options: Annotated[RunOptions, tyro.conf.arg(name="")]
    recipe: Annotated[R, tyro.conf.arg(name="")]


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
    of_folder = is_folder(name)
    named = choose_recipe(name, console) if of_folder else find_recipe(name)
    changes = [SHORT.sub(r"--finetune.\1", change) for change in changes]
    kind: Any = Arguments[type(named)]  # type: ignore[misc]
    chosen = tyro.cli(
        kind,
        prog=f"softaug train {name}",
        args=changes,
        default=Arguments(RunOptions(), named),
        config=(tyro.conf.AvoidSubcommands,),
    )
    recipe, options = chosen.recipe, chosen.options
    if of_folder:
        print_plain(console, describe_choice(recipe))
    if isinstance(recipe, Recipe) and recipe.members > 1:
        return Trained(recipe, options, train_members(recipe, options, console))
    folder, result = options.folder(recipe), train(recipe, options, console)
    if isinstance(recipe, Recipe):
        summary = (
            f"{result['split']} error {result['error']:.2%}, NLL {result['nll']:.3f}, "
            f"ECE {result['ece']:.2%}"
        )
    else:
        summary = (
            f"{result['split']} error of nearest neighbors {result['knn_error']:.2%}, feature std "
            f"{result['train_feature_std']:.2f}; `softaug evaluate {folder}` trains the probe"
        )
    print_plain(console, f"{summary}; {folder / RESULT}")
    return Trained(recipe, options, [folder])


def find_recipe(name: str) -> AnyRecipe:
    """Return the recipe of that name, or in that JSON file."""
    if not name.endswith(".json"):
        if os.sep in name:
            refuse("train", "a path must be that of a folder of classes", f"{name}, which is none")
        return find(name).recipe
    path = Path(name)
    if not path.is_file():
        refuse("train", f"{path} must be a recipe.json", "no such file")
    return read_recipe(path, "train")
