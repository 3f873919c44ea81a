"""The command `softaug data`: get a data set, or check the files of the one that is there."""

import os
from pathlib import Path
from statistics import median_low
from typing import Annotated

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.cifar import TORCHVISION, convert_from_torchvision
from softaug.lab.data.datasets import DATASETS, FOLDER, find_dataset, find_release
from softaug.lab.data.decoding import ImageFile, open_image, open_upright
from softaug.lab.data.download import get_release
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import load
from softaug.lab.data.windows import format_list, try_read
from softaug.lab.progress import progress

FEW = 10  # training images of a class, below which it is named


def data(
    name: Annotated[str, tyro.conf.Positional],
    data_dir: Path | None = None,
    from_torchvision: Path | None = None,
    decode: bool = False,
) -> None:
    """Get a data set, or check the one that is there; nothing is ever overwritten.

    Args:
        name: cifar10, cifar100, fashion-mnist, fashion-mini, imagenet, imagenette, digits, or
            the path of a folder of classes.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        from_torchvision: Convert torchvision's download in this folder; nothing is fetched.
        decode: Decode every file, to name all that cannot be; else only headers are read, and
            ImageNet's files are listed.
    """
    name = name_folder(name)
    dataset, console = find_dataset("data", name), Console(soft_wrap=True, highlight=False)
    if decode and dataset.storage != "files":
        refuse("data", "decode must be left out but for folders", name)
    if from_torchvision is not None and name not in TORCHVISION:
        refuse("data", "from_torchvision must be left out but for CIFAR", name)
    release = find_release(name)
    if from_torchvision is not None:
        convert_from_torchvision(name, from_torchvision, data_dir, console)
    elif release is not None:
        get_release(release, data_dir, console)
    else:
        _describe_dataset(name, data_dir, decode, console)
    console.print(f"cite: {dataset.citation}\nlicense: {dataset.license}", markup=False)


def name_folder(name: str) -> str:
    """Return the name of the data set in a folder; other names stay as they are."""
    if name in DATASETS or name.startswith(FOLDER):
        return name
    if os.sep in name and not Path(name).is_dir():
        refuse("data", "a path must be that of a folder of classes", f"{name}, which is none")
    return f"{FOLDER}{name}" if Path(name).is_dir() else name


def _describe_dataset(name: str, data_dir: Path | None, decode: bool, console: Console) -> None:
    """Print images and classes of a data set that is not downloaded; name files that are bad."""
    loaded, num_bad = load(name, data_dir), 0
    for split, source in (("train", loaded.train), ("test", loaded.test)):
        if source is None:
            remedy = "" if name in DATASETS else "; `softaug train` holds out a fifth of each class"
            console.print(f"{split}: none{remedy}")
            continue
        counts = source.labels.bincount(minlength=len(loaded.class_names)).tolist()
        each = " to ".join(f"{num:,}" for num in sorted({min(counts), max(counts)}))
        console.print(f"{split}: {sum(counts):,} images, {len(counts)} classes of {each} images")
        if split == "train":
            _warn_of_few(dict(zip(loaded.class_names, counts, strict=True)), console)
        if isinstance(source, FolderImages) and (decode or name not in DATASETS):
            sizes, errors = read_sizes(source, console, decode)
            num_bad += len(errors)
            if sizes:
                console.print(f"{split}: {describe_sizes(sizes)}")
            for error in errors:
                console.print(f"WRONG: {error}", markup=False)
    if num_bad:
        rule = f"files of {name.removeprefix(FOLDER)} must be images"
        refuse("data", rule, f"{num_bad} that are not", "restore or remove them")


def _warn_of_few(counts: dict[str, int], console: Console) -> None:
    few = [f"{name} ({num})" for name, num in counts.items() if num < FEW]
    if few:
        text = f"FEW: classes of less than {FEW} training images: {format_list(few)}"
        console.print(text, markup=False)


Sizes = list[tuple[int, int]]  # width and height of each image, upright


def read_sizes(
    source: FolderImages, console: Console, decode: bool = False
) -> tuple[Sizes, list[str]]:
    """Return the sizes of the images, and "PATH: reason" for each file that cannot be read.

    Headers are read, and pixels too with `decode`.
    """
    num, sizes, errors = len(source.files), Sizes(), list[str]()
    with progress(console, num, "files") as show:
        for number in range(num):
            file = try_read(path := source.path(number), errors, _open, path, decode)
            if file is not None:
                sizes.append((file.width, file.height))
            show(number + 1, f"{source.root}: {25 * (4 * (number + 1) // num)} % read")
    return sizes, errors


def _open(path: str, decode: bool) -> ImageFile:
    file = open_image(path)
    if decode:
        open_upright(file).load()
    return file


def describe_sizes(sizes: Sizes) -> str:
    """Say how large images are.

    >>> describe_sizes([(28, 28)] * 3), describe_sizes([(40, 30), (90, 80), (50, 60)])
    ('all 28 x 28 pixels', 'short edges of 30 to 80 pixels, median 50')
    """
    if len(set(sizes)) == 1:
        return f"all {sizes[0][0]} x {sizes[0][1]} pixels"
    edges = sorted(map(min, sizes))
    return f"short edges of {edges[0]} to {edges[-1]} pixels, median {short_edge(sizes)}"


def short_edge(sizes: Sizes) -> int:
    """Return the median of the short edges, the lower one of two."""
    return median_low(map(min, sizes))
