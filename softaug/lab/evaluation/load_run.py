"""A trained network, read back from its run's folder."""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import refuse
from softaug.lab.data.datasets import is_files
from softaug.lab.io import read_json
from softaug.lab.recipes.config import AnyRecipe, Recipe, steps_per_epoch
from softaug.lab.recipes.serialize import RECIPE, from_dict
from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.evaluate import predict
from softaug.lab.training.setup import (
    TrainingData,
    build_net,
    choose_device,
    fingerprint,
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

    def predict(self, images: Tensor) -> Tensor:
        """Predict logits of uint8 images, [B, C] float32 where the network is."""
        return predict(self.net, images, self.recipe.compute.precision)

    @property
    def image_set(self) -> str:
        """Which images the run is measured on, and which it has never seen, in words."""
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
    recipe = read_recipe(folder, who)
    found = load_newest(folder, who)
    data = load_data(recipe, data_dir)
    if found.state.get("data", fingerprint(data)) != fingerprint(data):
        remedy = "restore recipe.json and the images, or train again"
        refuse(who, f"images must be those that {folder} was trained on", "others", remedy)
    if isinstance(recipe, Recipe):
        net = build_net(recipe, data)
    else:
        from softaug.lab.evaluation.features import add_probe
        from softaug.lab.training.ssl import build_pair_net

        net = build_pair_net(recipe, data)
    part = "ema" if "ema" in found.state else "model"
    load_state(net, found.state[part], folder, who)
    layout = torch.channels_last if recipe.compute.channels_last else torch.contiguous_format
    net = net.to(choose_device(device)).to(memory_format=layout).eval()  # the bits of training
    manifest = json.loads((found.path / checkpoint.MANIFEST).read_text())
    sha256 = manifest[f"{part}.safetensors"]
    if not isinstance(recipe, Recipe):
        quiet = console or Console(quiet=True)
        backbone = net.get_submodule("backbone")
        net = add_probe(backbone, recipe, data, folder, sha256, quiet).eval()
    num_steps = recipe.epochs * steps_per_epoch(len(data.train.labels), recipe)
    return TrainedRun(folder, recipe, data, net, found.state["step"], num_steps, sha256)


def read_recipe(folder: Path, who: str = "evaluate") -> AnyRecipe:
    """Read the recipe of a run's folder."""
    path = folder / RECIPE
    if not path.is_file():
        remedy = "name a folder that `softaug train` made"
        refuse(who, f"{folder} must be a run's folder", f"no {RECIPE}", remedy)
    return from_dict(read_json(path, f"{who}: {path}"))


def load_newest(folder: Path, who: str) -> checkpoint.Checkpoint:
    """Load the newest checkpoint that is whole."""
    kept = checkpoint.steps(folder / CHECKPOINTS)
    if not kept:
        remedy = f"`softaug train {folder / RECIPE} --out {folder}` goes on with it"
        refuse(who, f"{folder} must hold a checkpoint", "none", remedy)
    damages = []
    for path in reversed(kept):
        try:
            return checkpoint.load(path)
        except checkpoint.DamagedError as damaged:
            damages.append(f"{path.name}: {damaged}")
    return refuse(who, f"a checkpoint in {kept[0].parent} must be whole", "; ".join(damages))


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
