"""Networks that learned without labels: linear probe, nearest neighbors, features as a file."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F
from rich.console import Console
from torch import Tensor, nn

from softaug.lab.data.images import Source
from softaug.lab.evaluation.load_run import TrainedRun
from softaug.lab.io import write_bytes
from softaug.lab.models.backbone import Normalize
from softaug.lab.recipes.config import PretrainRecipe
from softaug.lab.schema import Neighbors
from softaug.lab.training.linear_probe import feature_parts, fit_probe
from softaug.lab.training.setup import TrainingData
from softaug.lab.training.ssl import NUM_NEIGHBORS, build_pair_net
from softaug.metrics import knn_predict

PROBE = "probe.safetensors"
MAX_PIXELS = 32  # an edge: photographs are shrunk before their pixels are compared
KINDS = {"knn": "trained", "knn_untrained": "untrained network", "knn_pixels": "raw pixels"}

Tick = Callable[[int, str], None]


def add_probe(
    backbone: nn.Module,
    recipe: PretrainRecipe,
    data: TrainingData,
    folder: Path,
    weights_sha256: str,
    console: Console,
) -> nn.Sequential:
    """Put the linear probe on a backbone: trained now, or read from `folder` if it was before.

    A probe of other weights or settings is trained anew.
    """
    about = {
        "weights_sha256": weights_sha256,
        "probe": json.dumps(asdict(recipe.probe)),
        "seed": str(recipe.seed),
    }
    probe = read_probe(folder / PROBE, about)
    if probe is None:
        probe = fit_probe(backbone, recipe, data, console)
        tensors = {name: part.detach().cpu() for name, part in probe.named_parameters()}
        write_bytes(safetensors.torch.save(tensors, metadata=about), folder / PROBE)
    device = next(backbone.parameters()).device
    return nn.Sequential(OrderedDict(features=backbone, probe=probe.to(device)))


def read_probe(path: Path, about: Mapping[str, str]) -> nn.Linear | None:
    """Read the linear probe of a run; None where there is none that is `about` this."""
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            if not about.items() <= (file.metadata() or {}).items():
                return None
            weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
    except safetensors.SafetensorError:  # cut off by a crash of an earlier version
        return None
    probe = nn.Linear(weight.shape[1], weight.shape[0])
    probe.load_state_dict({"weight": weight, "bias": bias})
    return probe


def measure_neighbors(
    run: TrainedRun, test: Source, tick: Tick
) -> tuple[Neighbors, dict[str, Tensor]]:
    """Classify test images by their nearest training images; the errors, and who was wrong.

    By the trained features, and by two that a training must beat: the same network untrained,
    and standardized pixels. `tick` is called as images are done.
    """
    (backbone, recipe), data = _backbone_and_recipe(run), run.data
    device = next(backbone.parameters()).device
    untrained = build_pair_net(recipe, data).backbone.to(device)
    nets = (backbone, untrained, Pixels(data).to(device))

    def extract(net: nn.Module, source: Source, note: str) -> Tensor:
        parts = []
        for part in feature_parts(net, recipe, source):
            parts.append(part)
            tick(len(part), f"neighbors, {note}")
        return torch.cat(parts)

    num = min(NUM_NEIGHBORS, len(data.train.labels))
    wrong: dict[str, Tensor] = {}
    errors: dict[str, float] = {}
    for (name, note), net in zip(KINDS.items(), nets, strict=True):
        train_features, test_features = (extract(net, part, note) for part in (data.train, test))
        answers = knn_predict(train_features, data.train.labels, test_features, k=num)
        wrong[f"{name}_wrong"] = answers.cpu() != test.labels.cpu()
        errors[f"{name}_error"] = float(wrong[f"{name}_wrong"].double().mean())
    return Neighbors(neighbors=num, **errors), wrong


class Pixels(nn.Module):
    """Standardized pixels as features, of at most 32 x 32 pixels."""

    def __init__(self, data: TrainingData) -> None:
        super().__init__()
        self.normalize = Normalize(data.mean, data.sd)
        self.nothing = nn.Parameter(torch.empty(0))  # says where it is

    def forward(self, images: Tensor) -> Tensor:
        edge = min(MAX_PIXELS, *images.shape[-2:])
        return F.adaptive_avg_pool2d(self.normalize(images), edge).flatten(1)


def export_features(run: TrainedRun, parts: Mapping[str, Source], path: Path) -> None:
    """Write features [N, D] and labels [N] of each part, images as they are, for other uses."""
    backbone, recipe = _backbone_and_recipe(run)
    tensors: dict[str, Tensor] = {}
    for name, source in parts.items():
        tensors[f"{name}_features"] = torch.cat(list(feature_parts(backbone, recipe, source))).cpu()
        tensors[f"{name}_labels"] = source.labels.cpu().clone()
    write_bytes(safetensors.torch.save(tensors), path)


def _backbone_and_recipe(run: TrainedRun) -> tuple[nn.Module, PretrainRecipe]:
    assert isinstance(run.recipe, PretrainRecipe), "others were refused"
    return run.net.get_submodule("features"), run.recipe
