"""The networks that are measured, and the images they are measured on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from softaug.checks import check_whole, refuse
from softaug.data.images import Source, stratified_order
from softaug.evaluation.run import TrainedRun, images_of, open_run
from softaug.recipes.serialise import as_dict
from softaug.training.setup import load_images

WHO = "curves"


@dataclass(frozen=True)
class ImageOptions:
    """Which images the runs are measured on, and where."""

    images: int | None = None
    """measure on this many images, each class in proportion (default: all)"""
    split: Literal["held-out", "test"] = "held-out"
    """the images that the runs held out of training, or the test images: what is fitted on
    those is tuned on them"""
    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""

    def __post_init__(self) -> None:
        if self.images is not None:
            check_whole(WHO, "images", self.images, least=1)


class Subject(NamedTuple):
    """Runs of the same classes, images that none of them has seen, and what fills borders."""

    runs: list[TrainedRun]
    source: Source
    class_names: tuple[str, ...]
    fill: tuple[int, ...]  # the data's mean colour, in pixels 0..255


def find_subject(folders: Sequence[Path], options: ImageOptions) -> Subject:
    """Open the runs; those without held-out images are refused, unless test images may serve."""
    if not folders:
        refuse(WHO, "at least one run must be given", "none", "name a run's folder")
    runs = [open_run(folder, options.data_dir, options.device, WHO) for folder in folders]
    for run in runs[1:]:
        if images_of(run) != images_of(runs[0]):
            rule = f"all runs must be measured on the images of {runs[0].folder}"
            refuse(WHO, rule, run.folder, "its data, or what it held out, are others")
    source = _test(runs[0], options) if options.split == "test" else _held_out(runs[0])
    if options.images is not None:
        source = _some(source, options.images)
    data = runs[0].data
    return Subject(runs, source, data.class_names, tuple(round(mean) for mean in data.mean))


def about_subject(subject: Subject, options: ImageOptions) -> dict[str, Any]:
    """Which runs and images: for the result file."""
    return {
        "runs": [_describe_run(run) for run in subject.runs],
        "data": subject.runs[0].recipe.data.name,
        "split": options.split,
        "images": len(subject.source.labels),
        "fill": list(subject.fill),
    }


def _describe_run(run: TrainedRun) -> dict[str, Any]:
    return {
        "folder": run.folder.name,
        "weights_sha256": run.weights_sha256,
        "recipe": as_dict(run.recipe),
    }


def _held_out(run: TrainedRun) -> Source:
    if run.data.split != "validation":
        remedy = "train with --data.validation 5000, say, or fit on test images with --split test"
        refuse(WHO, f"{run.folder} must have held out images", "none", remedy)
    return run.data.measured


def _test(run: TrainedRun, options: ImageOptions) -> Source:
    spec = run.recipe.data
    test = load_images(spec, options.data_dir).test
    if test is None:
        refuse(WHO, f"{spec.name} must have test images", "none", "use --split held-out")
    return test


def _some(source: Source, num: int) -> Source:
    if num > len(source.labels):
        refuse(WHO, f"images must be at most the {len(source.labels)} that there are", num)
    return source.take(stratified_order(source.labels, seed=0)[:num])
