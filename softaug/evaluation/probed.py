"""A pretrained network with the linear probe on it: a classifier like any other."""

import json
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path

import safetensors
import safetensors.torch
from rich.console import Console
from torch import nn

from softaug.progress import progress
from softaug.recipes.pretrain import PretrainRecipe
from softaug.training.probe import fit_probe
from softaug.training.setup import TrainingData

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
        num = len(data.train.labels) * recipe.probe.epochs
        with progress(console, num, "images") as show:
            probe = fit_probe(backbone, recipe, data.train, len(data.class_names), show)
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
