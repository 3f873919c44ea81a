"""Data sets by name, and the parts of them that a run trains and measures on."""

from pathlib import Path
from typing import Annotated

import torch
import tyro
from PIL import Image
from rich.console import Console

from softaug.checks import check_choice, check_whole, refuse
from softaug.lab.data import cifar as convert
from softaug.lab.data import images
from softaug.lab.data.cifar import cifar
from softaug.lab.data.decoding import upright
from softaug.lab.data.digits import NUM_CLASSES, digits
from softaug.lab.data.download import get
from softaug.lab.data.fashion_mnist import NAME as FASHION_MNIST
from softaug.lab.data.fashion_mnist import fashion_mnist
from softaug.lab.data.folder import PHOTOS, FolderImages, folder, photos
from softaug.lab.data.images import ImageData, Images, Source
from softaug.lab.data.jpeg import open_image
from softaug.lab.data.releases import FETCHED, RELEASES
from softaug.lab.data.windows import Tries, listed
from softaug.lab.progress import progress

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


Size = tuple[int, int]  # width, height


def survey(name: str, console: Console, data_dir: Path | None = None, decode: bool = False) -> None:
    """Print images, classes and sizes of a data set that is not fetched: digits, or folders.

    The head of every file is read, or the whole of it is decoded; those of all parts that are
    no images are named, then refused.
    """
    data, num_wrong = load(name, data_dir), 0
    for part, source in (("train", data.train), ("test", data.test)):
        sizes, wrong = _look(source, console, decode) if source else (set(), [])
        num_wrong += len(wrong)
        line = _line(source, sizes, len(data.class_names)) if source and sizes else "none"
        for told in wrong or [f"{part}: {line}"]:
            console.print(told, soft_wrap=True, markup=False, highlight=False)
    if num_wrong:
        rule = f"files of {name.removeprefix(FOLDER)} must be images"
        refuse("data", rule, f"{num_wrong} that are not", "restore or remove them")


def _line(source: Source, sizes: set[Size], num_classes: int) -> str:
    ordered = sorted(sizes, key=lambda size: (size[0] * size[1], size))
    ends = dict.fromkeys((ordered[0], ordered[-1]))  # one, if all are alike
    pixels = " to ".join(f"{width} x {height}" for width, height in ends)
    counts = source.labels.bincount(minlength=num_classes).tolist()
    each = f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"
    return f"{sum(counts):,} images of {pixels} pixels, {num_classes} classes of {each} images"


def _look(source: Source, console: Console, decode: bool) -> tuple[set[Size], list[str]]:
    """The sizes of the images, and a line for each file that is none."""
    if isinstance(source, FolderImages):
        return _look_at_files(source, console, decode)
    assert isinstance(source, Images)
    return {(source.images.shape[3], source.images.shape[2])}, []


def _look_at_files(
    source: FolderImages, console: Console, decode: bool
) -> tuple[set[Size], list[str]]:
    look = _decoded_size if decode else _size_in_head
    sizes, num, wrong = set(), len(source.files), []
    with progress(console, num, "files") as show:
        for number in range(num):
            try:
                sizes.add(look(source.path(number)))
            except Exception as broken:  # what a broken file raises depends on its format
                wrong.append(f"WRONG: {source.path(number)}, {broken}")
            show(number + 1, f"{source.root}: {25 * (4 * (number + 1) // num)} % read")
    return sizes, wrong


def _size_in_head(path: str) -> Size:
    with Image.open(path) as image:
        width, height = image.size
    return width, height


def _decoded_size(path: str) -> Size:
    """The size of the image as it is looked at; Pillow decodes all of it."""
    image = upright(open_image(path))
    image.load()
    return image.size


REMEDY = "restore them, or remove them before a run begins"


def check_readable(source: Source) -> None:
    """Refuse files that are no images or parts of one, all at once; images in memory are good.

    Each file is read but not decoded.
    """
    if not isinstance(source, FolderImages):
        return
    paths = [source.path(number) for number in range(len(source.files))]
    tries = Tries(paths, skip=True)
    for row, path in enumerate(paths):
        tries(row, open_image, path)
    broken = tries.reasons()
    if broken:
        rule = f"every file that is measured, in {source.root}, must be an image that can be read"
        refuse("folder", rule, f"{len(broken)} that cannot: {listed(broken)}", REMEDY)


def data(
    name: Annotated[str, tyro.conf.Positional],
    data_dir: Path | None = None,
    from_torchvision: Path | None = None,
    decode: bool = False,
) -> None:
    """Get a data set, or check the one that is there; nothing is ever overwritten.

    Args:
        name: cifar10, cifar100, fashion-mnist, imagenet, imagenette, digits, or folder:PATH.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        from_torchvision: Convert torchvision's download in this folder; nothing is fetched.
        decode: Decode every file of a folder, to name all that cannot be; else heads are read.
    """
    check_name("data", name)
    if decode and not is_files(name):
        refuse("data", "decode must be left out but for folders", name)
    if name in RELEASES and from_torchvision is not None:
        convert.from_torchvision(name, from_torchvision, data_dir, Console())
    elif from_torchvision is not None:
        refuse("data", "from_torchvision must be left out but for CIFAR", name)
    elif name in FETCHED:
        get(name, data_dir, Console())
    else:
        survey(name, Console(), data_dir, decode)
