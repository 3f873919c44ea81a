"""From a recipe to data, network and machine."""

import hashlib
import json
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from softaug.lab.data.folder import check_files
from softaug.lab.data.images import ImageData, Images, Source, channel_stats, hold_out
from softaug.lab.data.load import load, split_train_eval
from softaug.lab.data.prior import read_prior
from softaug.lab.models import Normalize, create
from softaug.lab.recipes.config import AnyRecipe, DataSpec, LossSpec, Recipe
from softaug.lab.training.batches import derive_seed
from softaug.lab.training.logging import num_cores, warm_allocator
from softaug.lab.training.run_dir import RunOptions
from softaug.losses import SoftLoss
from softaug.online_smoothing import OnlineSmoothing
from softaug.transforms.curves import find_curves_file


class TrainingData(NamedTuple):
    """What a recipe trains and measures on."""

    train: Source
    measured: Source
    split: str  # what `measured` is: "test" or "validation"
    class_names: tuple[str, ...]
    mean: list[float]  # of each channel, in pixels 0..255
    sd: list[float]
    held_out: Source | None = None  # of the training images, for a pacer


def load_images(spec: DataSpec, data_dir: Path | None) -> ImageData:
    """The data set as its makers split it, read as the recipe says."""
    return load(spec.name, data_dir, spec.labels, spec.size, spec.resize, spec.unreadable)


def load_data(recipe: AnyRecipe, data_dir: Path | None) -> TrainingData:
    """The recipe's images; bad files and impossible subsets are refused."""
    spec, data = recipe.data, load_images(recipe.data, data_dir)
    train, measured = split_train_eval(
        data, per_class=spec.per_class, validation=spec.validation, seed=spec.seed
    )
    train, held_out = _for_pacer(recipe, train)
    check_files(measured)  # else a broken one would end the run after its first epoch
    mean, sd = channel_stats(train)
    split = "validation" if spec.validation else "test"
    return TrainingData(train, measured, split, data.class_names, mean, sd, held_out)


def _for_pacer(recipe: AnyRecipe, train: Source) -> tuple[Source, Source | None]:
    """(trained on, held out): the images that a pacer watches are not trained on."""
    num = recipe.augment.pace.held_out if isinstance(recipe, Recipe) else 0
    if not num:
        return train, None
    rest, held_out = hold_out(train, num, recipe.data.seed)
    check_files(held_out)
    return rest, held_out


def build_net(recipe: Recipe, data: TrainingData) -> nn.Module:
    """A fresh network that takes uint8 images; its weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive_seed(recipe.seed))
        net = create(recipe.model, len(data.class_names))
    normalize = Normalize(data.mean, data.sd)
    return nn.Sequential(OrderedDict(normalize=normalize, net=net))


def num_workers(options: RunOptions, source: Source) -> int:
    """Processes that read ahead: a core each for files, none for images in memory."""
    if options.workers is not None:
        return options.workers
    if isinstance(source, Images):
        return 0
    return max(1, num_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def build_loss(spec: LossSpec, class_names: tuple[str, ...]) -> SoftLoss:
    """The loss of each sample."""
    online = spec.online_smoothing
    return SoftLoss(
        soften=spec.soften,
        weighting=spec.weighting,
        prior="uniform" if spec.prior == "uniform" else read_prior(spec.prior, class_names),
        reduction="none",
        validate=False,
        label_smoothing=spec.label_smoothing,
        focal_gamma=spec.focal_gamma,
        base=OnlineSmoothing(len(class_names), online) if online else None,
    )


def fingerprint(data: TrainingData) -> dict[str, Any]:
    """What tells that the images are still the same: their number, labels and classes."""
    names = json.dumps(data.class_names).encode()
    labels = [source.labels.cpu().numpy().tobytes() for source in (data.train, data.measured)]
    return {
        "num_train": len(data.train.labels),
        "num_measured": len(data.measured.labels),
        "sha256": hashlib.sha256(b"".join([names, *labels])).hexdigest(),
    }


def files_sha256(recipe: Recipe) -> dict[str, str]:
    """What tells that the files which a recipe names are still the same."""
    curves, prior = recipe.augment.curves, recipe.loss.prior
    files = {} if curves in (None, "naive") else {"augment.curves": find_curves_file(str(curves))}
    if prior not in ("uniform", "coarse"):
        files["loss.prior"] = Path(prior)
    return {
        setting: hashlib.sha256(file.read_bytes()).hexdigest() for setting, file in files.items()
    }


def prepare_machine(recipe: AnyRecipe, options: RunOptions) -> None:
    """Threads, a warm allocator, and on GPUs kernels that give the same bits every time."""
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    warm_allocator()
    torch.backends.cudnn.deterministic = recipe.compute.deterministic
    torch.backends.cudnn.benchmark = not recipe.compute.deterministic
