"""What images are taken for after each operation, at each strength."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from rich.console import Console
from torch import Generator, Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.lab.data.images import Images, Source, stratified_order
from softaug.lab.evaluation.load_run import TrainedRun, load_run
from softaug.lab.progress import progress
from softaug.lab.recipes.fields import Count, Spec
from softaug.lab.recipes.serialize import as_dict
from softaug.lab.training.evaluate import chunks
from softaug.lab.training.logging import num_cores
from softaug.lab.training.setup import derive_seed, load_images
from softaug.metrics import shift_images
from softaug.transforms.operations import OPERATIONS, apply_operation

WHO = "curves"


@dataclass(frozen=True)
class ImageOptions(Spec):
    """Which images the runs are measured on, and where."""

    who: ClassVar[str] = WHO
    images: Count | None = None
    """measure on this many images, each class in proportion (default: all)"""
    split: Literal["held-out", "test"] = "held-out"
    """the images that the runs held out of training, or the test images: what is fitted on
    those is tuned on them"""
    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""


class Subject(NamedTuple):
    """Runs of the same classes, images that none of them has seen, and what fills borders."""

    runs: list[TrainedRun]
    source: Source
    class_names: tuple[str, ...]
    fill: tuple[int, ...]  # the data's mean colour, in pixels 0..255


def find_subject(folders: Sequence[Path], options: ImageOptions) -> Subject:
    """Open runs and the images to measure them on; refuse runs that held out no images."""
    if not folders:
        refuse(WHO, "at least one run must be given", "none", "name a run's folder")
    runs = [load_run(folder, options.data_dir, options.device, WHO) for folder in folders]
    for run in runs[1:]:
        if run.image_set != runs[0].image_set:
            rule = f"all runs must be measured on the images of {runs[0].folder}"
            refuse(WHO, rule, run.folder, "its data, or what it held out, are others")
    data, spec = runs[0].data, runs[0].recipe.data
    if options.split == "test":
        test = load_images(spec, options.data_dir).test
        if test is None:
            refuse(WHO, f"{spec.name} must have test images", "none", "use --split held-out")
        source: Source = test
    else:
        if data.split != "validation":
            remedy = (
                "train with --data.validation 5000, say, or fit on test images with --split test"
            )
            refuse(WHO, f"{runs[0].folder} must have held out images", "none", remedy)
        source = data.measured
    if options.images is not None:
        if options.images > len(source.labels):
            rule = f"images must be at most the {len(source.labels)} that there are"
            refuse(WHO, rule, options.images)
        source = source.take(stratified_order(source.labels, seed=0)[: options.images])
    return Subject(runs, source, data.class_names, tuple(round(mean) for mean in data.mean))


def describe_subject(subject: Subject, options: ImageOptions) -> dict[str, Any]:
    """Return runs and images as the result file names them."""
    return {
        "runs": [_describe_run(run) for run in subject.runs],
        "data": subject.runs[0].recipe.data.name,
        "split": options.split,
        "images": len(subject.source.labels),
        "fill": list(subject.fill),
    }


def _describe_run(run: TrainedRun) -> dict[str, Any]:
    recipe = as_dict(run.recipe)
    return {"folder": run.folder.name, "weights_sha256": run.weights_sha256, "recipe": recipe}


CROP = "crop"
OPERATION_FILL = 0  # as `SoftPolicy` and torchvision's policies fill; crops fill with the mean
MEASURABLE = (*(name for name, operation in OPERATIONS.items() if operation.graded), CROP)


@dataclass(frozen=True)
class MeasureOptions(ImageOptions):
    """What is measured, on which images."""

    operations: tuple[str, ...] = MEASURABLE
    """operations, and crop"""
    levels: Annotated[int, partial(check_whole, least=2)] = 9
    """strengths above 0, evenly up to the strongest"""
    draws: Count = 1
    """shifts of each image at each level of a crop; from 2 on, both directions of operations
    that have two (else images take turns)"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.operations:
            refuse(WHO, "at least one operation must be given", "none")
        for name in self.operations:
            check_choice(WHO, "operation", name, MEASURABLE)

    def strengths(self) -> list[float]:
        """Return the levels in ascending order, the last one 1."""
        return [level / self.levels for level in range(1, self.levels + 1)]


class Measured(NamedTuple):
    """The class predicted for each image, by each run in each draw: A predictions."""

    num_classes: int
    labels: Tensor  # [N] int64
    x: Tensor  # [L], what the operation takes away, above 0 up to 1
    whole: Tensor  # [N, 1, A] int32
    corrupted: dict[str, Tensor]  # operation -> [N, L, A] int32

    @property
    def chance(self) -> float:
        """Accuracy of guessing."""
        return 1 / self.num_classes

    def accuracy(self, predicted: Tensor) -> Tensor:
        """Return the share of right predictions of [N, F, A] for each image, [N, F]."""
        return (predicted == self.labels.view(-1, 1, 1)).double().mean(2)


def measure(subject: Subject, options: MeasureOptions, console: Console) -> Measured:
    """Show every image to every run, whole and after each operation at each level."""
    whole: list[Tensor] = []
    corrupted: dict[str, list[Tensor]] = {name: [] for name in options.operations}
    for images, _, first in _batches(subject, console):
        whole.append(predict_classes(subject, images)[:, None])
        for name, parts in corrupted.items():
            draws = range(count_draws(name, options.draws))
            levels = []
            for x in options.strengths():
                versions = [corrupt(name, images, x, draw, first, subject.fill) for draw in draws]
                levels.append(torch.cat([predict_classes(subject, i) for i in versions], dim=1))
            parts.append(torch.stack(levels, dim=1))  # [B, L, A]
    return Measured(
        len(subject.class_names),
        subject.source.labels,
        torch.tensor(options.strengths(), dtype=torch.float64),
        torch.cat(whole),
        {name: torch.cat(parts) for name, parts in corrupted.items()},
    )


def _batches(subject: Subject, console: Console) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Yield some hundred images, their labels and the number of the first; show the progress."""
    source, num, first = subject.source, len(subject.source.labels), 0
    with progress(console, num, "images") as show:
        for images in chunks(source, 0 if isinstance(source, Images) else num_cores()):
            yield images, source.labels[first : first + len(images)], first
            first += len(images)
            show(first, f"{first} of {num} images")


def predict_classes(subject: Subject, images: Tensor) -> Tensor:
    """Return the class that each run predicts for each image, [B, runs] int32 on the CPU."""
    predicted = [run.predict(images).argmax(1).cpu() for run in subject.runs]
    return torch.stack(predicted, dim=1).int()


def count_draws(name: str, draws: int) -> int:
    """Return how many of the draws differ: an operation has two directions, or one."""
    if name == CROP:
        return draws
    return min(draws, 2 if OPERATIONS[name].signed else 1)


def corrupt(
    name: str, images: Tensor, x: float, draw: int, first: int, crop_fill: Sequence[int]
) -> Tensor:
    """Return images after an operation that takes `x` away: the same for every network.

    `first` is the number of the first image: images take turns in the two directions.
    """
    if name == CROP:
        generator = Generator().manual_seed(derive_seed(draw, round(1e6 * x), first))
        return shift_images(images, 1 - x, generator=generator, fill=tuple(crop_fill))
    turn = (torch.arange(len(images)) + first + draw) % 2
    return apply_operation(name, images, x * (1 - 2 * turn.double()), fill=OPERATION_FILL)


def mean_guesses(subject: Subject, visible: float, console: Console) -> Tensor:
    """Return mean probabilities [C, C] that the runs give to cropped images of each true class.

    Probabilities, not predictions: with 50 images of a class they vary less. A class without
    images has a row of 0.
    """
    num_classes = len(subject.class_names)
    total = torch.zeros(num_classes, num_classes, dtype=torch.float64)
    for images, labels, first in _batches(subject, console):
        generator = Generator().manual_seed(derive_seed(first))
        cropped = shift_images(images, visible, generator=generator, fill=subject.fill)
        for run in subject.runs:
            total.index_add_(0, labels, run.predict(cropped).cpu().double().softmax(1))
    count = torch.bincount(subject.source.labels, minlength=num_classes) * len(subject.runs)
    return total / count.clamp_min(1)[:, None]
