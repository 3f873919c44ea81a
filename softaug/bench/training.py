"""Suite "training": our training loop beside a plain one, and where its time goes."""

from dataclasses import dataclass

from softaug.bench.table import Table
from softaug.bench.training_data import random_images
from softaug.bench.training_processes import processes_table
from softaug.bench.training_rates import rates_table
from softaug.bench.training_shares import shares_table
from softaug.bench.training_softness import softness_table

SMALL, LARGE = "resnet8-s2", "resnet18"


@dataclass(frozen=True)
class Sizes:
    """How much is trained on: CIFAR-100's sizes, and a small batch where a step takes seconds."""

    images: int = 50_000
    batch: int = 128
    large_batch: int = 32
    steps: int = 2
    """of the small network, for one sample of the plain loop's comparison"""
    process_steps: int = 5
    """of the small network, for one sample of the processes' comparison"""


def training_suite(rounds: int, sizes: Sizes | None = None) -> list[Table]:
    """The small network in all four parts, the large one beside the plain loop and in phases."""
    sizes = sizes or Sizes()
    images, few = random_images(sizes.images), max(1, rounds // 5)
    batch, large = sizes.batch, sizes.large_batch
    return [
        softness_table(SMALL, images, batch, 2 * rounds),
        rates_table(SMALL, images, batch, rounds, sizes.steps, least=1.3),
        rates_table(LARGE, images, large, few, steps=1, least=1.0),
        processes_table(SMALL, sizes.images, batch, max(1, rounds // 2), sizes.process_steps),
        shares_table(SMALL, images, batch, rounds),
        shares_table(LARGE, images, large, few),
    ]
