"""One step of a recipe on random images, without data files or folders."""

from dataclasses import replace

import torch
from torch import Tensor

from softaug.lab.data.images import Images
from softaug.lab.recipes import Recipe
from softaug.lab.training.batches import Batches
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.logging import Stopwatch
from softaug.lab.training.setup import TrainingData, make_learner

ALONE = DistContext(0, 1, torch.device("cpu"))
CLASSES = tuple("abcdefghij")


def random_data(num: int = 24, edge: int = 32) -> TrainingData:
    """Random images of ten classes."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (num, 3, edge, edge), dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.arange(num) % len(CLASSES))
    return TrainingData(images, images, "test", CLASSES, [120.0] * 3, [60.0] * 3)


def take_step(recipe: Recipe) -> tuple[Tensor, Tensor]:
    """(what the step found, [B, 2]; how far each weight moved) with a small network."""
    recipe = replace(recipe, model="resnet8", batch=12, epochs=max(2, recipe.epochs))
    data, clock = random_data(), Stopwatch(ALONE.device)
    batches = Batches(recipe, data.train, data.mean, ALONE, clock)
    learner = make_learner(recipe, data, batches, ALONE, clock)
    before = torch.cat([part.detach().flatten().clone() for part in learner.net.parameters()])
    batch = batches[0]
    found = learner.step(0, batch.images, batch.label, batch.num_global, batch.sample)
    after = torch.cat([part.detach().flatten() for part in learner.net.parameters()])
    return found, after - before
