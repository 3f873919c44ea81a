"""A trained network to be used elsewhere: in eval mode, with its preprocessing and class names.

from softaug.lab import load_run

net = load_run("runs/NAME-seed0")
images = net.read_images(["cat.jpg", "dog.png"])    # uint8 [B, 3, size, size]
probs = net.predict(images)                         # [B, C], after temperature scaling
net.class_names[probs[0].argmax()]
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softaug.checks import describe, refuse
from softaug.lab import schema
from softaug.lab.data.datasets import name_classes
from softaug.lab.data.folder import read_image
from softaug.lab.evaluation.evaluate import EVALUATION
from softaug.lab.evaluation.features import PROBE, read_probe
from softaug.lab.evaluation.load_run import load_newest, load_state, read_run_recipe, runs_in
from softaug.lab.io import read_json
from softaug.lab.models.backbone import Normalize, feature_extractor, with_normalization
from softaug.lab.models.registry import create
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.training import checkpoint
from softaug.lab.training.setup import choose_device, describe_images, load_data
from softaug.lab.training.uncertainty import add_head
from softaug.metrics import apply_temperature

WHO = "load_run"


class TrainedNetwork(nn.Module):
    """Logits [B, C] in float32 of uint8 images [B, 3, H, W]; the network inside is `network`."""

    def __init__(
        self,
        normalize: Normalize,
        network: nn.Module,
        recipe: AnyRecipe,
        *,
        class_names: Sequence[str],
        size: int,
        temperature: float | None,
        weights_sha256: str,
    ) -> None:
        super().__init__()
        self.normalize, self.network = normalize, network
        self.recipe = recipe
        self.class_names = tuple(class_names)
        self.size = size
        self.temperature = temperature
        """what `softaug evaluate` fitted; None before"""
        self.weights_sha256 = weights_sha256

    @property
    def short_edge(self) -> int:
        """The short edge that an image is resized to before its center is kept."""
        return self.recipe.data.resize or self.size

    def forward(self, images: Tensor) -> Tensor:
        if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
            rule = "images must be uint8 [B, 3, H, W]"
            refuse(WHO, rule, describe(images), "normalization is inside the network")
        logits: Tensor = self.network(self.normalize(images))
        return logits

    def read_images(self, paths: Sequence[str | Path]) -> Tensor:
        """Read image files as the test images were: uint8 [B, 3, size, size]."""
        return torch.stack([read_image(str(path), self.size, self.short_edge) for path in paths])

    @torch.no_grad()
    def predict(self, images: Tensor) -> Tensor:
        """Return probabilities [B, C], with the temperature if one was fitted."""
        logits = self(images.to(self.normalize.mean.device)).float()
        if self.temperature is not None:
            logits = apply_temperature(logits, self.temperature)
        probs: Tensor = logits.softmax(1)
        return probs


def load_run(
    path: Path | str, *, device: str = "cpu", data_dir: Path | str | None = None
) -> TrainedNetwork:
    """Load the network of a run's newest whole checkpoint, in eval mode.

    The average of the weights is taken where the run has one. Images are not needed, but for runs
    of versions before 0.2, which saved no class names: then the data set must be in `data_dir`.
    """
    folder = Path(path).expanduser()
    first, *others = runs_in(folder)
    if first != folder:
        got = f"{1 + len(others)} in {path}"
        refuse(WHO, "path must be of one network", got, f"name {first}")
    recipe = read_run_recipe(folder, WHO)
    found = load_newest(folder, WHO)
    about = found.state.get("images") or _describe_images(recipe, data_dir)
    part = "ema" if "ema" in found.state else "model"
    sha256 = found.sha256[f"{part}{checkpoint.TENSORS}"]
    normalize = Normalize([0.0] * 3, [1.0] * 3)
    network = create(recipe.model, len(about["class_names"]))
    if isinstance(recipe, Recipe):
        network = add_head(network, recipe.uncertainty, len(about["class_names"]))
        load_state(with_normalization(normalize, network), found.state[part], folder, WHO)
    else:
        network = _with_probe(normalize, network, found.state[part], folder, sha256)
    net = TrainedNetwork(
        normalize,
        network,
        recipe,
        class_names=name_classes(about["class_names"]),
        size=about["size"],
        temperature=_read_temperature(folder, sha256),
        weights_sha256=sha256,
    )
    return net.to(choose_device(device)).eval()


def _describe_images(recipe: AnyRecipe, data_dir: Path | str | None) -> dict[str, Any]:
    """Ask the data set for what runs of earlier versions did not save."""
    try:
        return describe_images(load_data(recipe, None if data_dir is None else Path(data_dir)))
    except (ValueError, OSError) as missing:
        rule = "the images of a run from before 0.2 must be there: it saved no class names"
        refuse(WHO, rule, str(missing))


def _with_probe(
    normalize: Normalize,
    network: nn.Module,
    state: dict[str, Tensor],
    folder: Path,
    weights_sha256: str,
) -> nn.Module:
    """Put the linear probe on a network that learned without labels."""
    probe = read_probe(folder / PROBE, {"weights_sha256": weights_sha256})
    if probe is None:
        rule, remedy = (
            f"{folder} must have a linear probe",
            f"`softaug evaluate {folder}` trains it",
        )
        refuse(WHO, rule, f"no {PROBE}", remedy)
    features, _ = feature_extractor(network)
    backbone = {
        name.removeprefix("backbone."): tensor
        for name, tensor in state.items()
        if name.startswith("backbone.")
    }
    load_state(with_normalization(normalize, features), backbone, folder, WHO)
    return nn.Sequential(features, probe)


def _read_temperature(folder: Path, weights_sha256: str) -> float | None:
    """Return what an evaluation of these weights fitted; None without one."""
    if not (folder / EVALUATION).is_file():
        return None
    content = read_json(folder / EVALUATION, f"{WHO}: {folder / EVALUATION}")
    members = content.get("members", [{}])
    if [member.get("weights_sha256") for member in members] != [weights_sha256]:
        return None
    return schema.Temperature.model_validate(content["temperature"]).others
