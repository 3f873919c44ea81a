"""What training does otherwise for the rivals of `softaug.uncertainty`."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.transforms.functional import resize

from softaug.checks import refuse
from softaug.lab.data.images import Images, Source, load
from softaug.lab.models.backbone import find_classifier
from softaug.lab.recipes.config import Uncertainty
from softaug.lab.training.evaluate import chunks, predict
from softaug.uncertainty import (
    DensityHead,
    RandomFeatureGP,
    RBFHead,
    bound_spectral_norms,
    find_fitted,
)


def add_head(net: nn.Module, spec: Uncertainty, num_classes: int) -> nn.Module:
    """Put the output layer of a method in place of a network's classifier."""
    if spec.method in ("none", "energy"):
        return net
    name = find_classifier(net, "uncertainty")
    linear = net.get_submodule(name)
    assert isinstance(linear, nn.Linear)
    head: nn.Module
    if spec.method == "duq":
        scale = spec.length_scale or 0.1
        size = linear.in_features
        head = RBFHead(size, num_classes, length_scale=scale, momentum=spec.momentum)
    else:
        bound = {"sngp": 6.0, "ddu": 3.0}[spec.method]
        net.set_submodule(name, nn.Identity())
        bound_spectral_norms(net, spec.spectral_bound or bound)
        head = DensityHead(linear.in_features, num_classes)
        if spec.method == "sngp":
            scale = spec.length_scale or 1.0
            head = RandomFeatureGP(linear.in_features, num_classes, spec.num_features, scale)
    net.set_submodule(name, head)
    return net


def fit_heads(net: nn.Module, train: Source, precision: str, workers: int) -> None:
    """Fit what is fitted after training to the features of all training images."""
    for head in find_fitted(net):
        parts: list[Tensor] = []
        keep = partial(_keep_input, parts)
        handle = head.register_forward_pre_hook(keep)
        try:
            net.eval()
            for images in chunks(train, workers):
                predict(net, images, precision)
        finally:
            handle.remove()
        head.fit(torch.cat(parts), train.labels.cpu())


def _keep_input(parts: list[Tensor], module: nn.Module, inputs: Any) -> None:
    parts.append(inputs[0].detach().float().cpu())


class Outliers:
    """Images of other classes, drawn anew for each step."""

    def __init__(self, name: str, edge: int, data_dir: Path | None, device: torch.device) -> None:
        source = load(name, data_dir, size=edge).train
        if not isinstance(source, Images):
            refuse("uncertainty", "outliers must be a data set in memory", name, "such as cifar100")
        images = source.images
        if images.shape[-2:] != (edge, edge):
            images = resize(images, [edge, edge], antialias=True)
        self.images = images.to(device)

    def draw(self, num: int, seed: int) -> Tensor:
        """Return so many images, drawn by the seed."""
        draws = torch.Generator().manual_seed(seed)
        index = torch.randint(len(self.images), (num,), generator=draws)
        return self.images[index.to(self.images.device)]


def find_rbf_head(net: nn.Module) -> RBFHead | None:
    """Return the output layer of DUQ, where a network has it."""
    return next((part for part in net.modules() if isinstance(part, RBFHead)), None)
