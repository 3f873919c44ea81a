"""What the suite "training" trains on and how: noise of CIFAR-100's shape, the paper's settings.

Speed does not depend on what the pixels show, so that nothing has to be downloaded.
"""

import torch

from softaug.bench.images import MEAN, STD
from softaug.data.images import Images
from softaug.recipes import Augment, LossSpec, NormalOffsets, Recipe, UniformOffsets
from softaug.training.setup import TrainingData

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
