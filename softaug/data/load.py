"""Data sets by name, and the parts of them that a run trains and measures on."""

from pathlib import Path

import torch

from softaug.checks import check_choice, check_whole, refuse
from softaug.data import images
from softaug.data.cifar import cifar
from softaug.data.digits import NUM_CLASSES, digits
from softaug.data.fashion import NAME as FASHION_MNIST
from softaug.data.fashion import fashion_mnist
from softaug.data.folder import folder
from softaug.data.imagenet import PHOTOS, photos
from softaug.data.images import ImageData, Images, Source
from softaug.data.releases import FETCHED, RELEASES

FOLDER = "folder:"
NAMES = (*FETCHED, *PHOTOS, "digits", f"{FOLDER}PATH")


def load(
    name: str,
    data_dir: Path | str | None = None,
    labels: str = "fine",
    size: int = 224,
    resize: int | None = None,
    unreadable: str = "refuse",
) -> ImageData:
    """The images of a data set in colour: `NAMES` has the names.

    `data_dir` is for those that lie there (see `data_folder`); `labels` may be "coarse" for
    CIFAR-100; `size`, `resize` and `unreadable` are for images in folders (see `folder`).
    """
    check_name("load", name)
    if name in RELEASES:
        return cifar(name, data_dir, labels)
    if labels != "fine":
        refuse("load", f'labels of {name} must be "fine"', repr(labels))
    if name == FASHION_MNIST:
        return fashion_mnist(data_dir)
    if name in PHOTOS:
        return photos(name, data_dir, size, resize, unreadable)
    if name.startswith(FOLDER):
        return folder(name.removeprefix(FOLDER), size, resize, unreadable)
    return _colour_digits()


def is_files(name: str) -> bool:
    """Whether the images of this data set are files of any size, decoded when they are needed."""
    return name in PHOTOS or name.startswith(FOLDER)


def check_name(who: str, name: str) -> None:
    """Refuse a name that is no data set's, naming the nearest."""
    if not str(name).startswith(FOLDER) or name == FOLDER:
        check_choice(who, "name", name, NAMES)


def parts(
    data: ImageData, *, per_class: int | None, validation: int, seed: int
) -> tuple[Source, Source]:
    """(trained on, measured on): `validation` images held out, or the test part if that is 0.

    They are held out first, so what is measured on does not change with `per_class`, the
    number of images of each class to train on (None is all).
    """
    check_whole("parts", "validation", validation, least=0)
    if validation:
        train, measured = images.hold_out(data.train, validation, seed)
    elif data.test is not None:
        train, measured = data.train, data.test
    else:
        remedy = "give the folder a val part beside train"
        refuse("parts", "validation must be above 0 where there is no test part", 0, remedy)
    if per_class is not None:
        train = images.per_class(train, per_class, seed)
    return train, measured


def _colour_digits() -> ImageData:
    """The 1,100 digits that are not for the test, and the 697 that are; three equal channels."""
    train, validation, test = (
        Images(part.images.repeat(1, 3, 1, 1), part.labels) for part in digits()
    )
    both = Images(*(torch.cat(pair) for pair in zip(train, validation, strict=True)))
    return ImageData(both, test, tuple(str(digit) for digit in range(NUM_CLASSES)))
