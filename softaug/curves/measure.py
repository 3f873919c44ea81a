"""What images are taken for after each operation, at each strength."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from rich.console import Console
from torch import Generator, Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.curves.subject import WHO, ImageOptions, Subject
from softaug.data.images import Images
from softaug.evaluation.run import predict
from softaug.metrics import shifted
from softaug.progress import progress
from softaug.training.environment import num_cores
from softaug.training.measure import chunks
from softaug.training.seeding import mix
from softaug.transforms.operations import OPERATIONS, apply_operation

CROP = "crop"
OPERATION_FILL = 0  # as `SoftPolicy` and torchvision's policies fill; crops fill with the mean
MEASURABLE = (*(name for name, operation in OPERATIONS.items() if operation.graded), CROP)


@dataclass(frozen=True)
class MeasureOptions(ImageOptions):
    """What is measured, on which images."""

    operations: tuple[str, ...] = MEASURABLE
    """operations, and crop"""
    levels: int = 9
    """strengths above 0, evenly up to the strongest"""
    draws: int = 1
    """shifts of each image at each level of a crop; from 2 on, both directions of operations
    that have two (else images take turns)"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(WHO, "levels", self.levels, least=2)
        check_whole(WHO, "draws", self.draws, least=1)
        if not self.operations:
            refuse(WHO, "at least one operation must be given", "none")
        for name in self.operations:
            check_choice(WHO, "operation", name, MEASURABLE)

    def strengths(self) -> list[float]:
        """The levels: ..., 1."""
        return [place / self.levels for place in range(1, self.levels + 1)]


class Measured(NamedTuple):
    """What each image was taken for, by each run in each draw: A answers."""

    num_classes: int
    labels: Tensor  # [N] int64
    x: Tensor  # [L], what the operation takes away, above 0 up to 1
    whole: Tensor  # [N, 1, A] int32
    harmed: dict[str, Tensor]  # operation -> [N, L, A] int32

    @property
    def chance(self) -> float:
        """Accuracy of one who guesses."""
        return 1 / self.num_classes

    def recognised(self, answers: Tensor) -> Tensor:
        """In which share of the answers [N, F, A] each image was recognised, [N, F]."""
        return (answers == self.labels.view(-1, 1, 1)).double().mean(2)


def measure(subject: Subject, options: MeasureOptions, console: Console) -> Measured:
    """Show every image to every run, whole and after each operation at each level."""
    whole: list[Tensor] = []
    harmed: dict[str, list[Tensor]] = {name: [] for name in options.operations}
    num, done = len(subject.source.labels), 0
    with progress(console, num, "images") as show:
        for images, _ in stretches(subject):
            whole.append(taken_for(subject, images)[:, None])
            for name, found in harmed.items():
                found.append(_levels(subject, options, name, images, done))
            done += len(images)
            show(done, f"{done} of {num} images")
    x = torch.tensor(options.strengths(), dtype=torch.float64)
    columns = {name: torch.cat(parts) for name, parts in harmed.items()}
    num_classes = len(subject.class_names)
    return Measured(num_classes, subject.source.labels, x, torch.cat(whole), columns)


def stretches(subject: Subject) -> Iterator[tuple[Tensor, Tensor]]:
    """The images, some hundred at a time, with their labels."""
    source, first = subject.source, 0
    for images in chunks(source, 0 if isinstance(source, Images) else num_cores()):
        yield images, source.labels[first : first + len(images)]
        first += len(images)


def taken_for(subject: Subject, images: Tensor) -> Tensor:
    """The class that each run takes each image for, [B, runs] int32 on the CPU."""
    taken = [predict(run, images).argmax(1).cpu() for run in subject.runs]
    return torch.stack(taken, dim=1).int()


def _levels(
    subject: Subject, options: MeasureOptions, name: str, images: Tensor, first: int
) -> Tensor:
    """What each run takes each image for at each level in each draw, [B, L, A]."""
    columns = []
    for x in options.strengths():
        taken = [
            taken_for(subject, harm(name, images, x, draw, first, subject.fill))
            for draw in range(num_different(name, options.draws))
        ]
        columns.append(torch.cat(taken, dim=1))
    return torch.stack(columns, dim=1)


def num_different(name: str, draws: int) -> int:
    """How many of the draws differ: an operation has two directions, or one."""
    if name == CROP:
        return draws
    return min(draws, 2 if OPERATIONS[name].signed else 1)


def harm(
    name: str, images: Tensor, x: float, draw: int, first: int, crop_fill: Sequence[int]
) -> Tensor:
    """The images after an operation that takes `x` away: the same for every network.

    `first` is the number of the first image: images take turns in the two directions.
    """
    if name == CROP:
        places = Generator().manual_seed(mix(draw, round(1e6 * x), first))
        return shifted(images, 1 - x, generator=places, fill=tuple(crop_fill))
    turn = (torch.arange(len(images)) + first + draw) % 2
    return apply_operation(name, images, x * (1 - 2 * turn.double()), fill=OPERATION_FILL)
