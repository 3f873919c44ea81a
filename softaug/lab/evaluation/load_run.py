"""A trained network, read back from its run's folder."""

import json
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import safetensors
import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import refuse
from softaug.lab.data.datasets import is_files
from softaug.lab.recipes import AnyRecipe, Recipe, from_dict
from softaug.lab.recipes.config import PretrainRecipe
from softaug.lab.training import checkpoint
from softaug.lab.training.batches import steps_per_epoch
from softaug.lab.training.command import member_folders
from softaug.lab.training.distributed import choose_device
from softaug.lab.training.evaluate import predict
from softaug.lab.training.linear_probe import fit_probe
from softaug.lab.training.run_dir import CHECKPOINTS, RECIPE
from softaug.lab.training.setup import TrainingData, build_net, fingerprint, load_data
from softaug.lab.training.ssl import build_pair_net

PROBE = "probe.safetensors"


def with_probe(
    backbone: nn.Module,
    recipe: PretrainRecipe,
    data: TrainingData,
    folder: Path,
    weights_sha256: str,
    console: Console,
) -> nn.Sequential:
    """The backbone, then its probe: trained now, or read from `folder` if it was before.

    A probe of other weights or settings is trained anew.
    """
    about = {
        "weights_sha256": weights_sha256,
        "probe": json.dumps(asdict(recipe.probe)),
        "seed": str(recipe.seed),
    }
    device = next(backbone.parameters()).device
    probe = _kept(folder / PROBE, about)
    if probe is None:
        probe = fit_probe(backbone, recipe, data, console)
        _keep(probe, folder / PROBE, about)
    return nn.Sequential(OrderedDict(features=backbone, probe=probe.to(device)))


def _kept(path: Path, about: dict[str, str]) -> nn.Linear | None:
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            if file.metadata() != about:
                return None
            weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
    except safetensors.SafetensorError:  # cut off by a crash
        return None
    probe = nn.Linear(weight.shape[1], weight.shape[0])
    probe.load_state_dict({"weight": weight, "bias": bias})
    return probe


def _keep(probe: nn.Linear, path: Path, about: dict[str, str]) -> None:
    tensors = {name: part.detach().cpu() for name, part in probe.named_parameters()}
    unfinished = path.with_name(f".{path.name}")
    safetensors.torch.save_file(tensors, unfinished, metadata=about)
    unfinished.replace(path)


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
        """Predict logits of uint8 images, [B, C] float32, in the recipe's precision."""
        return predict(self.net, images, self.recipe.compute.precision)


def runs_in(folder: Path) -> list[Path]:
    """The runs that a folder stands for: itself, or the members of an ensemble in it."""
    if (folder / RECIPE).is_file():
        return [folder]
    return member_folders(folder) or [folder]


def open_run(
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
    kept = checkpoint.steps(folder / CHECKPOINTS)
    if not kept:
        remedy = f"`softaug train {folder / RECIPE} --out {folder}` goes on with it"
        refuse(who, f"{folder} must hold a checkpoint", "none", remedy)
    found = _load(kept, who)
    data = load_data(recipe, data_dir)
    if found.state.get("data", fingerprint(data)) != fingerprint(data):
        remedy = "restore recipe.json and the images, or train again"
        refuse(who, f"images must be those that {folder} was trained on", "others", remedy)
    net = build_net(recipe, data) if isinstance(recipe, Recipe) else build_pair_net(recipe, data)
    part = "ema" if "ema" in found.state else "model"
    _load_weights(net, found.state[part], folder, who)
    manifest = json.loads((found.path / checkpoint.MANIFEST).read_text())
    layout = torch.channels_last if recipe.compute.channels_last else torch.contiguous_format
    net = net.to(choose_device(device)).to(memory_format=layout).eval()  # the bits of training
    sha256 = manifest[f"{part}.safetensors"]
    if not isinstance(recipe, Recipe):
        quiet = console or Console(quiet=True)
        backbone = net.get_submodule("backbone")
        net = with_probe(backbone, recipe, data, folder, sha256, quiet).eval()
    num_steps = recipe.epochs * steps_per_epoch(len(data.train.labels), recipe)
    return TrainedRun(folder, recipe, data, net, found.state["step"], num_steps, sha256)


def images_of(run: TrainedRun) -> str:
    """Which images a run is measured on, and which it has never seen."""
    data = run.recipe.data
    size = f", size {data.size}" if is_files(data.name) else ""
    size += f" of short edge {data.resize}" if data.resize else ""
    held = f", {data.validation} held out by seed {data.seed}" if data.validation else ""
    return f"{data.name} ({data.labels}{size}{held})"


def read_recipe(folder: Path, who: str = "evaluate") -> AnyRecipe:
    """The recipe of a run's folder."""
    path = folder / RECIPE
    if not path.is_file():
        remedy = "name a folder that `softaug train` made"
        refuse(who, f"{folder} must be a run's folder", f"no {RECIPE}", remedy)
    try:
        return from_dict(json.loads(path.read_text()))
    except json.JSONDecodeError as broken:
        refuse(who, f"{path} must be JSON", broken)


def _load(kept: list[Path], who: str) -> checkpoint.Checkpoint:
    damages = []
    for path in reversed(kept):
        try:
            return checkpoint.load(path)
        except checkpoint.DamagedError as damaged:
            damages.append(f"{path.name}: {damaged}")
    return refuse(who, f"a checkpoint in {kept[0].parent} must be whole", "; ".join(damages))


def _load_weights(net: nn.Module, tensors: dict[str, Tensor], folder: Path, who: str) -> None:
    try:
        net.load_state_dict(_weights(tensors))
    except RuntimeError as unlike:
        rule = f"the data of {folder} must have the classes it was trained on"
        refuse(who, rule, str(unlike).splitlines()[-1].strip())


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The network's own names: an average of weights has a prefix and a counter."""
    return {
        name.removeprefix(EMA_PREFIX): tensor
        for name, tensor in tensors.items()
        if name != "n_averaged"
    }
