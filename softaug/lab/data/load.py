"""Load a data set by name, and split it into what a run trains and what it evaluates on."""

from pathlib import Path
from typing import cast

from softaug.checks import check_whole, refuse
from softaug.lab.data import images
from softaug.lab.data.datasets import ReadOptions, find_dataset, import_object
from softaug.lab.data.images import ImageData, Source


def load(
    name: str,
    data_dir: Path | str | None = None,
    labels: str = "fine",
    size: int = 224,
    resize: int | None = None,
    unreadable: str = "refuse",
) -> ImageData:
    """Load the images of a data set in color; `DATASETS` has the names, `ReadOptions` the options.

    `labels` may be "coarse" for CIFAR-100; `size`, `resize` and `unreadable` are for images in
    folders.
    """
    dataset = find_dataset("load", name)
    if labels not in (dataset.num_classes or {"fine": 0}):
        refuse("load", f'labels of {name} must be "fine"', repr(labels))
    options = ReadOptions(data_dir, labels, size, resize, unreadable)
    return cast(ImageData, import_object(dataset.reader)(name, options))


def split_train_eval(
    data: ImageData, *, per_class: int | None, validation: int, seed: int
) -> tuple[Source, Source]:
    """Return the images to train on, and `validation` held-out images or, if 0, the test split.

    They are held out first, so that the evaluation does not change with `per_class`, the number
    of images of each class to train on (None is all).
    """
    who = "split_train_eval"
    check_whole(who, "validation", validation, least=0)
    if validation:
        train, evaluation = images.hold_out(data.train, validation, seed)
    elif data.test is not None:
        train, evaluation = data.train, data.test
    else:
        remedy = "give the folder a val split beside train"
        refuse(who, "validation must be above 0 where there is no test split", 0, remedy)
    if per_class is not None:
        train = images.sample_per_class(train, per_class, seed)
    return train, evaluation
