"""What features are worth without training on them: nearest neighbours, and two floors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.data.images import Source
from softaug.metrics import knn_answers
from softaug.models import Standardise
from softaug.recipes.pretrain import PretrainRecipe
from softaug.training.pair_learner import build_pair_net
from softaug.training.probe import feature_parts
from softaug.training.selfsupervised import NEIGHBOURS
from softaug.training.setup import TrainingData

Tick = Callable[[int, str], None]
MOST_PIXELS = 32  # an edge: photographs are shrunk before their pixels are compared
KINDS = {"knn": "trained", "knn_untrained": "untrained network", "knn_pixels": "raw pixels"}


def neighbour_errors(
    backbone: nn.Module, recipe: PretrainRecipe, data: TrainingData, test: Source, tick: Tick
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Errors of nearest neighbours among the training images, and which images were wrong.

    Of the trained features, and of two that a training must beat: the same network untrained,
    and standardised pixels. `tick` is told of images as they are done.
    """
    device = next(backbone.parameters()).device
    untrained = build_pair_net(recipe, data).backbone.to(device)
    pixels = Pixels(data).to(device)
    found: dict[str, Any] = {"neighbours": min(NEIGHBOURS, len(data.train.labels))}
    kept: dict[str, Tensor] = {}
    for (name, note), net in zip(KINDS.items(), (backbone, untrained, pixels), strict=True):
        known, asked = (_all(net, recipe, part, tick, note) for part in (data.train, test))
        answers = knn_answers(known, data.train.labels, asked, k=found["neighbours"])
        kept[f"{name}_wrong"] = answers.cpu() != test.labels.cpu()
        found[f"{name}_error"] = float(kept[f"{name}_wrong"].double().mean())
    return found, kept


def num_images(data: TrainingData, test: Source) -> int:
    """Images that `neighbour_errors` looks at."""
    return len(KINDS) * (len(data.train.labels) + len(test.labels))


class Pixels(nn.Module):
    """Standardised pixels as features, of at most 32 x 32 pixels."""

    def __init__(self, data: TrainingData) -> None:
        super().__init__()
        self.standardise = Standardise(data.mean, data.sd)
        self.nothing = nn.Parameter(torch.empty(0))  # says where it is

    def forward(self, images: Tensor) -> Tensor:
        edge = min(MOST_PIXELS, *images.shape[-2:])
        return F.adaptive_avg_pool2d(self.standardise(images), edge).flatten(1)


def export_features(
    backbone: nn.Module, recipe: PretrainRecipe, parts: dict[str, Source], path: Path
) -> None:
    """Write features [N, D] and labels [N] of each part, images as they are, for other uses."""
    tensors: dict[str, Tensor] = {}
    for name, source in parts.items():
        tensors[f"{name}_features"] = torch.cat(list(feature_parts(backbone, recipe, source))).cpu()
        tensors[f"{name}_labels"] = source.labels.cpu().clone()
    path.parent.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(tensors, path)


def _all(net: nn.Module, recipe: PretrainRecipe, source: Source, tick: Tick, note: str) -> Tensor:
    parts = []
    for part in feature_parts(net, recipe, source):
        parts.append(part)
        tick(len(part), f"neighbours, {note}")
    return torch.cat(parts)
