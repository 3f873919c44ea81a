"""From a recipe to data, network and machine.

An evaluation starts here too: what only training needs is imported where it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from softaug.checks import refuse
from softaug.lab.data.images import (
    ImageData,
    Images,
    Source,
    channel_stats,
    load,
    split_train_eval,
)
from softaug.lab.models.backbone import Normalize, with_normalization
from softaug.lab.models.registry import create
from softaug.lab.recipes.config import AnyRecipe, DataSpec, LossSpec, Recipe
from softaug.lab.training.logging import warm_allocator

if TYPE_CHECKING:
    from softaug.lab.training.run_dir import RunOptions
    from softaug.losses import SoftLoss

NUM_TO_HASH = 64  # image files, at most, whose content is part of a fingerprint
NUM_TO_WHITEN = 1000  # training images, at most, to which whitening filters are fitted


def derive_seed(*numbers: int) -> int:
    """Return a seed in 0..2^63 - 1 that no other numbers are likely to give.

    >>> derive_seed(0, 1) == derive_seed(0, 1), derive_seed(0, 1) == derive_seed(1, 0)
    (True, False)
    """
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class TrainingData(NamedTuple):
    """What a recipe trains and measures on."""

    train: Source
    measured: Source
    split: str  # what `measured` is: "test" or "validation"
    class_names: tuple[str, ...]
    mean: list[float]  # of each channel, in pixels 0..255
    sd: list[float]


def load_images(spec: DataSpec, data_dir: Path | None) -> ImageData:
    """Load the data set as its makers split it, read as the recipe says."""
    of_files = spec.size, spec.resize, spec.unreadable, spec.test_share, spec.seed
    return load(spec.name, data_dir, spec.labels, *of_files)


def load_data(recipe: AnyRecipe, data_dir: Path | None) -> TrainingData:
    """Load the recipe's images; bad files and impossible subsets are refused."""
    spec, data = recipe.data, load_images(recipe.data, data_dir)
    train, measured = split_train_eval(
        data, per_class=spec.per_class, validation=spec.validation, seed=spec.seed
    )
    _check_files(measured)  # else a broken one would end the run after its first epoch
    mean, sd = channel_stats(train)
    split = "validation" if spec.validation else "test"
    return TrainingData(train, measured, split, data.class_names, mean, sd)


def _check_files(source: Source) -> None:
    """Refuse broken files before anything is trained; images in memory were checked when read."""
    if not isinstance(source, Images):
        from softaug.lab.data.folder import check_files

        check_files(source)


def build_net(recipe: Recipe, data: TrainingData) -> nn.Module:
    """Build a fresh network that takes uint8 images; its weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive_seed(recipe.seed))
        net = create(recipe.model, len(data.class_names))
        if recipe.uncertainty.method != "none":
            from softaug.lab.training.uncertainty import add_head

            net = add_head(net, recipe.uncertainty, len(data.class_names))
    return normalized(net, data)


def normalized(net: nn.Module, data: TrainingData) -> nn.Module:
    """Put the images' normalization before a network, and fit filters that depend on images."""
    normalize = Normalize(data.mean, data.sd)
    if fit_whitening := getattr(net, "fit_whitening", None):
        num = len(data.train.labels)
        index = torch.arange(0, num, math.ceil(num / NUM_TO_WHITEN))
        fit_whitening(normalize(data.train.fetch(index).cpu()))
    return with_normalization(normalize, net)


def build_loss(spec: LossSpec, class_names: tuple[str, ...]) -> SoftLoss:
    """Build the loss of each sample."""
    from softaug.lab.data.prior import read_prior
    from softaug.losses import SoftLoss
    from softaug.online_smoothing import OnlineSmoothing

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
        max_suppression=spec.max_suppression,
    )


def fingerprint(data: TrainingData) -> dict[str, Any]:
    """Describe the images, to tell later if they are the same.

    Of images in memory every pixel counts; of files their names, sizes, and the content of some.
    """
    names = json.dumps(data.class_names).encode()
    labels = [source.labels.cpu().numpy().tobytes() for source in (data.train, data.measured)]
    content = [hash_source(source) for source in (data.train, data.measured)]
    return {
        "num_train": len(data.train.labels),
        "num_measured": len(data.measured.labels),
        "sha256": hashlib.sha256(b"".join([names, *labels])).hexdigest(),
        "content_sha256": hashlib.sha256("".join(content).encode()).hexdigest(),
    }


def describe_images(data: TrainingData) -> dict[str, Any]:
    """Return the names of the classes and the edge of the images that are measured."""
    size = int(data.measured.fetch(torch.tensor([0])).shape[-1])
    return {"class_names": list(data.class_names), "size": size}


def fits_fingerprint(saved: dict[str, Any], data: TrainingData) -> bool:
    """Tell whether images are those of a checkpoint; earlier versions saved less of them."""
    now = fingerprint(data)
    return all(now.get(key) == value for key, value in saved.items())


def hash_source(source: Source) -> str:
    """Hash what the images are made of, in their order."""
    if isinstance(source, Images):
        pixels = source.images.cpu().contiguous()
        digest = hashlib.sha256(repr(tuple(pixels.shape)).encode())
        digest.update(pixels.numpy().data)
        return digest.hexdigest()
    from softaug.lab.data.folder import FolderImages

    num = len(source.labels)
    sample = range(0, num, math.ceil(num / NUM_TO_HASH))
    if not isinstance(source, FolderImages):
        return hashlib.sha256(source.fetch(torch.tensor(sample)).cpu().numpy().data).hexdigest()
    digest = hashlib.sha256(json.dumps(source.sizes()).encode())
    digest.update(source.files.tobytes())
    for number in sample:
        digest.update(hashlib.sha256(source.read_bytes(number)).digest())
    return digest.hexdigest()


def files_sha256(recipe: Recipe, runs: Path | None = None) -> dict[str, str]:
    """Hash the files which a recipe names; `runs` is where runs beside its own are."""
    from softaug.lab.data.prior import NAMED
    from softaug.lab.training.finetune import find_weights_file
    from softaug.transforms.curves import find_curves_file

    curves, prior = recipe.augment.curves, recipe.loss.prior
    files = {} if curves in (None, "naive") else {"augment.curves": find_curves_file(str(curves))}
    if prior not in NAMED:
        files["loss.prior"] = Path(prior)
    if recipe.augment.factors.samples is not None:
        files["augment.factors.samples"] = Path(recipe.augment.factors.samples)
    weights = recipe.finetune.weights and find_weights_file(recipe.finetune.weights, runs)
    if weights:
        files["finetune.weights"] = weights
    return {
        setting: hashlib.sha256(file.read_bytes()).hexdigest() for setting, file in files.items()
    }


def choose_device(name: str) -> torch.device:
    """Return the device called `name`; "auto" is a CUDA device where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as missing:
        reason = str(missing).splitlines()[0]
        refuse("train", "device must be one that torch has here", name, f"torch says: {reason}")
    return device


def ignore_signals(worker: int) -> None:
    """Leave it to the run what a signal to all of them means; a worker ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def prepare_machine(recipe: AnyRecipe, options: RunOptions) -> None:
    """Set threads, warm the allocator; have GPUs give the same bits every time if asked to."""
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    warm_allocator()
    torch.backends.cudnn.deterministic = recipe.compute.deterministic
    torch.backends.cudnn.benchmark = not recipe.compute.deterministic
