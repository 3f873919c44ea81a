"""The linear probe: how well a linear layer separates classes by features that stay as they are.

Its order and crops are functions of the recipe's seed, epoch and sample, like all draws.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import NotFiniteError, refuse
from softaug.draws import DrawKey, send
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Source
from softaug.lab.recipes.config import Compute, Optim, PretrainRecipe
from softaug.lab.training.batches import Steps, on_device
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.evaluate import chunks, predict, workers_for
from softaug.lab.training.logging import Losses
from softaug.lab.training.setup import TrainingData, derive_seed
from softaug.lab.training.ssl import edge_of
from softaug.lab.training.trainer import Task, Trainer
from softaug.transforms import HorizontalFlip, UniformResizedCrop
from softaug.transforms.resized_crop import resize_windows

SCALE = (0.08, 1.0)  # SimSiam's evaluation takes torchvision's
STREAM = 2  # the views of pretraining have 0 and 1


def fit_probe(
    backbone: nn.Module, recipe: PretrainRecipe, data: TrainingData, console: Console | None = None
) -> nn.Linear:
    """Train a linear layer on the frozen features of `backbone` with the training labels."""
    task = LinearProbe(backbone, recipe, data)
    context = DistContext(0, 1, next(backbone.parameters()).device)
    trainer = Trainer(probe_config(recipe), data, task, context=context, console=console)
    try:
        trainer.train()
        trainer.check_finite()
    except NotFiniteError:
        got, remedy = f"others with probe.lr {recipe.probe.lr:g}", "choose a smaller probe.lr"
        refuse("probe", "weights must be finite", got, remedy, NotFiniteError)
    return task.net


class ProbeConfig(NamedTuple):
    """What the probe's training depends on."""

    epochs: int
    batch: int
    seed: int
    optim: Optim
    compute: Compute


def probe_config(recipe: PretrainRecipe) -> ProbeConfig:
    """Return the probe's part of a recipe: SGD with momentum, a learning rate that drops."""
    spec = recipe.probe
    optim = Optim(lr=spec.lr, nesterov=False, weight_decay=0.0, schedule="step", drops=spec.drops)
    # A linear layer is trained in float32; its features have the recipe's precision.
    return ProbeConfig(spec.epochs, spec.batch, recipe.seed, optim, Compute(channels_last=False))


class ProbeBatch(NamedTuple):
    """Images or features of a step, with the samples that they are of."""

    inputs: Tensor  # [B, C, H, W] uint8, or [B, D]
    sample: Tensor  # [B] indices in the training set
    unreadable: tuple[str, ...] = ()  # always none: a file that cannot be read is refused


class LinearProbe(Task[ProbeBatch]):
    """Learn labels from frozen features."""

    net: nn.Linear
    batches: "ProbeBatches"
    train_metric = "error"
    fused = False  # published probes were trained without it

    def __init__(self, backbone: nn.Module, recipe: PretrainRecipe, data: TrainingData) -> None:
        self.backbone, self.precision = backbone.eval(), recipe.compute.precision
        self.device = next(backbone.parameters()).device
        features = None
        if not recipe.probe.crops:
            features = torch.cat(list(feature_parts(backbone, recipe, data.train)))
        self.batches = ProbeBatches(recipe, on_device(data.train, self.device), features)
        # Features are where the network is: a worker could not read them from a GPU.
        self.workers = workers_for(data.train) if features is None else 0
        self.labels = data.train.labels.to(self.device)
        example = data.train.fetch(data.train.labels.new_zeros(1))
        num_features = predict(backbone, example, self.precision).shape[1]
        self.net = nn.Linear(num_features, len(data.class_names))
        draws = torch.Generator().manual_seed(derive_seed(recipe.seed, STREAM))
        nn.init.normal_(self.net.weight, std=0.01, generator=draws)
        nn.init.zeros_(self.net.bias)

    def loss(self, batch: ProbeBatch) -> Losses:
        features = batch.inputs.to(self.device)
        if self.batches.features is None:
            features = predict(self.backbone, features, self.precision)
        logits, labels = self.model(features), self.labels[batch.sample.to(self.device)]
        losses = F.cross_entropy(logits, labels, reduction="none")
        return Losses(losses, logits.detach().argmax(1) != labels, len(labels))

    def describe(self, metric: float) -> str:
        return f"probe: train (augmented) error {100 * metric:.1f} %"


class ProbeBatches(Steps[ProbeBatch]):
    """`batches[step]` is a pure function of the recipe and the step: crops, or ready features."""

    def __init__(self, recipe: PretrainRecipe, source: Source, features: Tensor | None) -> None:
        super().__init__(probe_config(recipe), len(source.labels))
        self.source, self.features = source, features
        self.crop = UniformResizedCrop(edge_of(source), SCALE)
        self.flip = HorizontalFlip()

    def __getitem__(self, step: int) -> ProbeBatch:
        sample = self.index(step)
        if self.features is not None:
            return ProbeBatch(self.features[send(sample, self.features.device)], sample)
        index = send(sample, self.source.labels.device)
        key = DrawKey(self.recipe.seed, step // self.steps_per_epoch, index, STREAM)
        if isinstance(self.source, FolderImages):
            images = self.source.windows(index, self.crop, key).images
        else:
            whole = self.source.fetch(index)
            images = resize_windows(whole, self.crop.draw(whole, key=key), self.crop.size)
        return ProbeBatch(self.flip.apply(images, self.flip.draw(images, key=key)), sample)


def feature_parts(backbone: nn.Module, recipe: PretrainRecipe, source: Source) -> Iterator[Tensor]:
    """Compute the features of all images as they are, [B, D] float32 where the network is.

    They come in chunks of about 500 images of CIFAR's size.
    """
    backbone.eval()
    for images in chunks(source, workers_for(source)):
        yield predict(backbone, images, recipe.compute.precision)
