"""The linear probe: how well a linear layer tells classes apart by features that stay as they are.

Its order and crops are functions of the recipe's seed, epoch and sample, like all draws.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import NotFiniteError, refuse
from softaug.draws import DrawKey, send
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Source
from softaug.lab.progress import Show
from softaug.lab.recipes.config import PretrainRecipe, ProbeSpec
from softaug.lab.training.batches import Steps, derive_seed, on_device, stream
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.evaluate import chunks, workers_for
from softaug.lab.training.optim import DTYPES
from softaug.lab.training.ssl import edge_of
from softaug.transforms import HorizontalFlip, UniformResizedCrop
from softaug.transforms.resized_crop import resize_windows

SCALE = (0.08, 1.0)  # SimSiam's evaluation takes torchvision's
STREAM = 2  # the views of pretraining have 0 and 1


class ProbeBatch(NamedTuple):
    """Images or features of a step, with what belongs to them."""

    seen: Tensor  # [B, C, H, W] uint8, or [B, D]
    sample: Tensor  # [B] places in the training set


class Order(NamedTuple):
    """What the order of samples depends on."""

    epochs: int
    batch: int
    seed: int


class Samples(Steps[ProbeBatch]):
    """`samples[step]` is a pure function of the recipe and the step: crops, or ready features."""

    def __init__(self, recipe: PretrainRecipe, source: Source, features: Tensor | None) -> None:
        spec, alone = recipe.probe, DistContext(0, 1, torch.device("cpu"))
        super().__init__(Order(spec.epochs, spec.batch, recipe.seed), len(source.labels), alone)
        self.source, self.features = source, features
        self.crop = UniformResizedCrop(edge_of(source), SCALE)
        self.flip = HorizontalFlip()

    def __getitem__(self, step: int) -> ProbeBatch:
        sample = self.index(step)
        if self.features is not None:
            return ProbeBatch(self.features[send(sample, self.features.device)], sample)
        index = send(sample, self.source.labels.device)
        epoch = step // self.steps_per_epoch
        return ProbeBatch(self._cropped(DrawKey(self.recipe.seed, epoch, index, STREAM)), sample)

    def _cropped(self, key: DrawKey) -> Tensor:
        index = torch.as_tensor(key.index)
        if isinstance(self.source, FolderImages):
            images = self.source.windows(index, self.crop, key).images
        else:
            whole = self.source.fetch(index)
            images = resize_windows(whole, self.crop.draw(whole, key=key), self.crop.size)
        return self.flip.apply(images, self.flip.draw(images, key=key))


def fit_probe(
    backbone: nn.Module, recipe: PretrainRecipe, source: Source, num_classes: int, show: Show
) -> nn.Linear:
    """A linear layer on the frozen features of `backbone`, trained with the labels of `source`.

    `show` is told how many images were done, of `recipe.probe.epochs` times all of them.
    """
    device = next(backbone.parameters()).device
    features = None if recipe.probe.crops else features_of(backbone, recipe, source)
    samples = Samples(recipe, on_device(source, device), features)
    labels, steps = source.labels.to(device), samples.steps_per_epoch
    probe, sgd = _fresh(backbone, recipe, source, num_classes)
    done = 0
    # Features are where the network is: a worker could not read them from a GPU.
    workers = workers_for(source) if features is None else 0
    for step, batch in enumerate(stream(samples, 0, workers)):
        sgd.param_groups[0]["lr"] = probe_lr(recipe.probe, step // steps)
        seen = batch.seen.to(device)
        known = seen if features is not None else extract(backbone, recipe, seen)
        loss = F.cross_entropy(probe(known), labels[batch.sample.to(device)])
        sgd.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        sgd.step()
        done += len(batch.sample)
        show(done, f"probe, epoch {step // steps + 1}/{recipe.probe.epochs}")
    _check_finite(probe, recipe.probe)
    return probe


def probe_lr(spec: ProbeSpec, epoch: int) -> float:
    """The learning rate of an epoch: divided by 10 at each of the drops.

    >>> [probe_lr(ProbeSpec(epochs=5, lr=10.0), epoch) for epoch in range(5)]
    [10.0, 10.0, 10.0, 1.0, 0.1]
    """
    passed = sum(epoch >= round(share * spec.epochs) for share in spec.drops)
    return spec.lr / float(10**passed)


@torch.no_grad()
def extract(backbone: nn.Module, recipe: PretrainRecipe, images: Tensor) -> Tensor:
    """The features of uint8 images in the recipe's precision, [B, D] float32."""
    device, dtype = next(backbone.parameters()).device, DTYPES[recipe.compute.precision]
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        found: Tensor = backbone.eval()(images.to(device))
    return found.float()


def features_of(backbone: nn.Module, recipe: PretrainRecipe, source: Source) -> Tensor:
    """The features of all images as they are, [N, D] float32, where the network is."""
    return torch.cat(list(feature_parts(backbone, recipe, source)))


def feature_parts(backbone: nn.Module, recipe: PretrainRecipe, source: Source) -> Iterator[Tensor]:
    """The same in stretches of about 500 images of CIFAR's size."""
    read = chunks(source, workers_for(source))
    return (extract(backbone, recipe, images) for images in read)


def _fresh(
    backbone: nn.Module, recipe: PretrainRecipe, source: Source, num_classes: int
) -> tuple[nn.Linear, torch.optim.SGD]:
    """A layer of small random weights that depend on the seed alone, and how it learns."""
    example = extract(backbone, recipe, source.fetch(source.labels.new_zeros(1)))
    probe = nn.Linear(example.shape[1], num_classes)
    draws = torch.Generator().manual_seed(derive_seed(recipe.seed, STREAM))
    nn.init.normal_(probe.weight, std=0.01, generator=draws)
    nn.init.zeros_(probe.bias)
    probe = probe.to(example.device)
    return probe, torch.optim.SGD(probe.parameters(), recipe.probe.lr, momentum=0.9)


def _check_finite(probe: nn.Linear, spec: ProbeSpec) -> None:
    if not bool(torch.stack([part.isfinite().all() for part in probe.parameters()]).all()):
        got, remedy = f"others with probe.lr {spec.lr:g}", "choose a smaller probe.lr"
        refuse("probe", "weights must be finite", got, remedy, NotFiniteError)
