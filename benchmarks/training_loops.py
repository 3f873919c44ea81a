"""What the suite "training" trains on and how: noise of CIFAR-100's shape, the paper's settings.

Speed does not depend on what the pixels show, so that nothing has to be downloaded.
"""

import random
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR100

from benchmarks.timing import MEAN, STD
from softaug.lab.data.images import Images
from softaug.lab.models import create
from softaug.lab.recipes import Augment, LossSpec, NormalOffsets, Recipe, UniformOffsets
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.setup import TrainingData
from softaug.lab.training.supervised import Supervised
from softaug.lab.training.trainer import MAX_LOG_INTERVAL, Trainer

NUM_CLASSES = 100
EDGE = 32


def random_images(num: int) -> Images:
    """`num` images of uint8 noise [N, 3, 32, 32] in 100 classes, always the same."""
    generator = torch.Generator().manual_seed(0)
    shape = (num, 3, EDGE, EDGE)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    return Images(images, torch.randint(0, NUM_CLASSES, (num,), generator=generator))


def training_data(images: Images) -> TrainingData:
    """The images as the training loop has them."""
    names = tuple(map(str, range(NUM_CLASSES)))
    mean, sd = ([255 * value for value in values] for values in (MEAN, STD))
    return TrainingData(images, images, "test", names, mean, sd)


def soft_recipe(model: str, batch: int) -> Recipe:
    """The paper's soft crop and loss."""
    augment, loss = Augment(NormalOffsets()), LossSpec(soften="both")
    return Recipe("bench-soft", model, augment=augment, loss=loss, batch=batch)


def hard_recipe(model: str, batch: int) -> Recipe:
    """The usual crop of up to 4 pixels."""
    return Recipe("bench-hard", model, augment=Augment(UniformOffsets()), batch=batch)


class OurLoop:
    """The parts that a run is made of, without checkpoints and evaluation."""

    def __init__(self, recipe: Recipe, data: TrainingData, context: DistContext = SINGLE) -> None:
        self.task = Supervised(recipe, data, context)
        self.batches = self.task.batches
        self.trainer = Trainer(recipe, data, self.task, context=context)

    def step(self) -> float:
        """Learn from the next batch; return the CPU seconds that making the batch took."""
        started = time.process_time()
        batch = self.batches[self.trainer.step]
        seconds = time.process_time() - started
        self.trainer.train_step(batch)
        if len(self.trainer.buffer) == MAX_LOG_INTERVAL:
            self.trainer.buffer.flush(stop=False)
        return seconds


v1: Any = import_module("torchvision.transforms")  # it has no types


class PlainTransform:
    """Flip, soft crop, tensor, normalise: (image, confidence) of one PIL image."""

    def __init__(self, sigma: float = 0.3, k: float = 2.0) -> None:
        self.sigma, self.k = sigma, k
        self.fill = tuple(round(255 * mean) for mean in MEAN)
        self.flip = v1.RandomHorizontalFlip()
        self.convert = v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)])

    def __call__(self, image: Image.Image) -> tuple[Tensor, float]:
        width, height = image.size
        dx, dy = (draw_offset(edge, self.sigma) for edge in (width, height))
        image = paste(self.flip(image), dx, dy, self.fill)
        lost = 1 - visible_share(image.size, dx, dy)
        confidence = 1 - (1 - 1 / NUM_CLASSES) * lost**self.k  # Eq. 7
        return self.convert(image), confidence


def draw_offset(edge: int, sigma: float) -> int:
    """Normal, drawn again until some of the image is left, then cut to whole pixels."""
    while abs(offset := random.gauss(0, sigma * edge)) >= edge:
        pass
    return int(offset)


def paste(image: Image.Image, dx: int, dy: int, fill: tuple[int, ...]) -> Image.Image:
    """What a window sees that moved right by `dx` and down by `dy`."""
    canvas = Image.new("RGB", image.size, fill)
    canvas.paste(image, (-dx, -dy))
    return canvas


def visible_share(size: tuple[int, int], dx: int, dy: int) -> float:
    """How much of an image of this size is left in the window.

    >>> visible_share((32, 32), dx=-8, dy=16)
    0.375
    """
    width, height = size
    return (width - abs(dx)) * (height - abs(dy)) / (width * height)


class PlainCifar(CIFAR100):
    """torchvision's CIFAR-100, `__getitem__` and all, on images from memory."""

    def __init__(self, images: Images) -> None:
        self.data = images.images.permute(0, 2, 3, 1).contiguous().numpy()  # [N, H, W, C]
        self.targets = images.labels.tolist()
        self.transform, self.target_transform = PlainTransform(), None


def plain_loss(logits: Tensor, labels: Tensor, confidence: Tensor) -> Tensor:
    """The paper's listing: KL to a dense target, weighted; each sample by its own weight (Eq. 6).

    (As printed, [B, 1] times [B] weights all samples alike: `weighting="batch_mean"`.)
    """
    confidence = confidence.float().unsqueeze(1)  # [B, 1]
    num_classes = logits.shape[1]
    target = torch.ones_like(logits) * (1 - confidence) / (num_classes - 1)
    target.scatter_(dim=1, index=labels.unsqueeze(1), src=confidence)
    divergence = F.kl_div(F.log_softmax(logits, dim=1), target, reduction="none").sum(1)
    return (confidence.squeeze(1) * divergence).mean()


class PlainLoop:
    """The usual loop with a recipe's network, batch and optimiser."""

    def __init__(
        self, recipe: Recipe, data: PlainCifar, channels_last: bool = False, workers: int = 0
    ) -> None:
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.layout, self.workers = layout, workers
        self.net = create(recipe.model, NUM_CLASSES).to(memory_format=layout)
        self.sgd = torch.optim.SGD(
            self.net.parameters(),
            recipe.optim.lr,
            recipe.optim.momentum,
            weight_decay=recipe.optim.weight_decay,
            nesterov=True,
        )
        self.loader: DataLoader[Any] = DataLoader(
            data, recipe.batch, shuffle=True, drop_last=True, num_workers=workers
        )
        self.schedule = CosineAnnealingLR(self.sgd, recipe.epochs * len(self.loader))
        self.sum_loss, self.num_right = 0.0, 0
        self.restart()

    def restart(self) -> None:
        """Begin a new epoch at the next step; ends a loader worker."""
        self._coming = self._batches()

    def step(self) -> None:
        """Load and learn from the next batch."""
        (images, confidence), labels = next(self._coming)
        logits = self.net(images.contiguous(memory_format=self.layout))
        loss = plain_loss(logits, labels, confidence)
        self.sgd.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.sgd.step()
        self.schedule.step()
        self.sum_loss += loss.item()
        self.num_right += int((logits.argmax(1) == labels).sum())

    def _batches(self) -> Iterator[Any]:
        while True:
            yield from self.loader
