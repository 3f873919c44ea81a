"""A trained network, read back from its run's folder."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import refuse
from softaug.lab.data.datasets import is_files
from softaug.lab.recipes.config import AnyRecipe, Recipe, steps_per_epoch
from softaug.lab.recipes.serialize import RECIPE, hash_recipe, read_recipe, read_values
from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.evaluate import predict
from softaug.lab.training.logging import read_metrics
from softaug.lab.training.setup import (
    TrainingData,
    build_net,
    choose_device,
    fits_fingerprint,
    load_data,
)

EMA_PREFIX = "module."


class TrainedRun(NamedTuple):
    """A run's recipe, images and network as they were when its last checkpoint was written."""

    folder: Path
    recipe: AnyRecipe
    data: TrainingData
    net: nn.Module  # gives logits; of a run without labels it is `features` and a `probe`
    step: int
    num_steps: int  # of the whole training
    weights_sha256: str
    rows: list[dict[str, Any]]  # of metrics.jsonl
    run_id: str | None

    def predict(self, images: Tensor) -> Tensor:
        """Predict logits of uint8 images, [B, C] float32 where the network is."""
        return predict(self.net, images, self.recipe.compute.precision)

    @property
    def image_set(self) -> str:
        """Describe which images the run is measured on, and which it has never seen."""
        data = self.recipe.data
        size = f", size {data.size}" if is_files(data.name) else ""
        size += f" of short edge {data.resize}" if data.resize else ""
        held = f", {data.validation} held out by seed {data.seed}" if data.validation else ""
        return f"{data.name} ({data.labels}{size}{held})"


def runs_in(folder: Path) -> list[Path]:
    """List the runs that a folder stands for: itself, or the members of an ensemble in it."""
    if (folder / RECIPE).is_file():
        return [folder]
    from softaug.lab.training.command import member_folders

    return member_folders(folder) or [folder]


def load_run(
    folder: Path,
    data_dir: Path | None,
    device: str,
    who: str = "evaluate",
    console: Console | None = None,
) -> TrainedRun:
    """Load the newest whole checkpoint of a run; what is missing is refused, in `who`'s name.

    A network that learned without labels gets its linear probe, which is trained if need be.
    """
    recipe = read_run_recipe(folder, who)
    newest = load_newest(folder, who)
    data = load_data(recipe, data_dir)
    if not fits_fingerprint(newest.state.get("data", {}), data):
        remedy = "restore recipe.json and the images, or train again"
        refuse(who, f"images must be those that {folder} was trained on", "others", remedy)
    if isinstance(recipe, Recipe):
        net = build_net(recipe, data)
    else:
        from softaug.lab.evaluation.features import add_probe
        from softaug.lab.training.ssl import build_pair_net

        net = build_pair_net(recipe, data)
    part = "ema" if "ema" in newest.state else "model"
    load_state(net, newest.state[part], folder, who)
    layout = torch.channels_last if recipe.compute.channels_last else torch.contiguous_format
    net = net.to(choose_device(device)).to(memory_format=layout).eval()  # the bits of training
    sha256 = newest.sha256[f"{part}{checkpoint.TENSORS}"]
    if not isinstance(recipe, Recipe):
        quiet = console or Console(quiet=True)
        backbone = net.get_submodule("backbone")
        net = add_probe(backbone, recipe, data, folder, sha256, quiet).eval()
    num_steps = recipe.epochs * steps_per_epoch(len(data.train.labels), recipe)
    run_id = newest.state["run"]["run_id"] if "run" in newest.state else None  # absent in 0.1
    step, rows = newest.state["step"], newest.state.get("rows")
    if rows is None:  # in a checkpoint of 0.1
        rows = [row for row in read_metrics(folder) if row["step"] <= step]
    return TrainedRun(folder, recipe, data, net, step, num_steps, sha256, rows, run_id)


def read_run_recipe(folder: Path, who: str = "evaluate") -> AnyRecipe:
    """Read the recipe of a run's folder."""
    path = folder / RECIPE
    if not path.is_file():
        remedy = "name a folder that `softaug train` made"
        refuse(who, f"{folder} must be a run's folder", f"no {RECIPE}", remedy)
    return read_recipe(path, who)


def load_newest(folder: Path, who: str) -> checkpoint.Checkpoint:
    """Load the newest checkpoint that is whole; the run's recipe must be that of it."""
    folders = checkpoint.steps(folder / CHECKPOINTS)
    if not folders:
        remedy = f"`softaug train {folder / RECIPE} --out {folder}` goes on with it"
        refuse(who, f"{folder} must hold a checkpoint", "none", remedy)
    newest, damages = checkpoint.newest_whole(folder / CHECKPOINTS)
    if newest is None:
        refuse(who, f"a checkpoint in {folders[0].parent} must be whole", "; ".join(damages))
    identity = newest.state.get("run")  # absent in checkpoints of 0.1
    if identity and identity["recipe_sha256"] != hash_recipe(read_values(folder / RECIPE, who)):
        rule = f"{RECIPE} must be that of the checkpoints in {folder}"
        refuse(who, rule, "another", "put back what was there")
    return newest


def load_state(net: nn.Module, tensors: dict[str, Tensor], folder: Path, who: str) -> None:
    """Load weights into a network; averaged ones have a prefix and a counter."""
    weights = {
        name.removeprefix(EMA_PREFIX): tensor
        for name, tensor in tensors.items()
        if name != "n_averaged"
    }
    try:
        net.load_state_dict(weights)
    except RuntimeError as unlike:
        rule = f"the data of {folder} must have the classes it was trained on"
        refuse(who, rule, str(unlike).splitlines()[-1].strip())
