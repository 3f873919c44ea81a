"""One step of a recipe on random images, without data files or folders."""

from dataclasses import replace

import torch
from torch import Tensor

from softaug.lab.data.images import Images
from softaug.lab.recipes import AnyRecipe
from softaug.lab.training.command import build_task
from softaug.lab.training.setup import TrainingData
from softaug.lab.training.trainer import Trainer

CLASSES = tuple("abcdefghij")


def random_data(num: int = 24, edge: int = 32) -> TrainingData:
    """Random images of ten classes."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (num, 3, edge, edge), dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.arange(num) % len(CLASSES))
    return TrainingData(images, images, "test", CLASSES, [120.0] * 3, [60.0] * 3)


def trainer_of(recipe: AnyRecipe, data: TrainingData) -> Trainer:
    """A trainer that writes no files."""
    return Trainer(recipe, data, build_task(recipe, data))


def take_step(recipe: AnyRecipe) -> tuple[Tensor, Tensor]:
    """(losses and metrics of the step, [B, 2]; how far each weight moved) with a small network."""
    recipe = replace(recipe, model="resnet8", batch=12, epochs=max(2, recipe.epochs))
    trainer = trainer_of(recipe, random_data())
    before = flat(trainer)
    return step_once(trainer), flat(trainer) - before


def step_once(trainer: Trainer) -> Tensor:
    """Take the next step; its losses and metrics, [B, 2]."""
    trainer.train_step(trainer.batches[trainer.step])
    return trainer.buffer._entries[-1][2]


def flat(trainer: Trainer) -> Tensor:
    """All weights, one after the other."""
    return torch.cat([part.detach().flatten().clone() for part in trainer.net.parameters()])
