"""The command `softaug data`: get a data set, or check the files of the one that is there."""

from pathlib import Path
from typing import Annotated

import tyro
from PIL import Image
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.cifar import TORCHVISION, convert_from_torchvision
from softaug.lab.data.datasets import FOLDER, find_dataset, find_release
from softaug.lab.data.decoding import open_image, open_upright
from softaug.lab.data.download import get_release
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Images, Source, load
from softaug.lab.progress import progress

Size = tuple[int, int]  # width, height


def data(
    name: Annotated[str, tyro.conf.Positional],
    data_dir: Path | None = None,
    from_torchvision: Path | None = None,
    decode: bool = False,
) -> None:
    """Get a data set, or check the one that is there; nothing is ever overwritten.

    Args:
        name: cifar10, cifar100, fashion-mnist, fashion-mini, imagenet, imagenette, digits, or
            folder:PATH.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        from_torchvision: Convert torchvision's download in this folder; nothing is fetched.
        decode: Decode every file of a folder, to name all that cannot be; else headers are read.
    """
    dataset, console = find_dataset("data", name), Console()
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
        describe_dataset(name, console, data_dir, decode)
    _print(console, f"cite: {dataset.citation}\nlicense: {dataset.license}")


def describe_dataset(
    name: str, console: Console, data_dir: Path | None = None, decode: bool = False
) -> None:
    """Print images, classes and sizes of a data set that is not downloaded.

    The header of every file is read, or the whole of it is decoded; files of all splits that are
    not images are listed, then refused.
    """
    loaded, num_bad = load(name, data_dir), 0
    for split, source in (("train", loaded.train), ("test", loaded.test)):
        sizes, errors = _find_sizes(source, console, decode) if source else (set(), [])
        num_bad += len(errors)
        num_classes = len(loaded.class_names)
        line = _format_counts(source, sizes, num_classes) if source and sizes else "none"
        _print(console, "\n".join(errors or [f"{split}: {line}"]))
    if num_bad:
        rule = f"files of {name.removeprefix(FOLDER)} must be images"
        refuse("data", rule, f"{num_bad} that are not", "restore or remove them")


def _format_counts(source: Source, sizes: set[Size], num_classes: int) -> str:
    ordered = sorted(sizes, key=lambda size: (size[0] * size[1], size))
    ends = dict.fromkeys((ordered[0], ordered[-1]))  # one, if all are alike
    pixels = " to ".join(f"{width} x {height}" for width, height in ends)
    counts = source.labels.bincount(minlength=num_classes).tolist()
    each = f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"
    return f"{sum(counts):,} images of {pixels} pixels, {num_classes} classes of {each} images"


def _find_sizes(source: Source, console: Console, decode: bool) -> tuple[set[Size], list[str]]:
    """Return the sizes of the images, and a line for each file that is not one."""
    if isinstance(source, Images):
        return {(source.images.shape[3], source.images.shape[2])}, []
    assert isinstance(source, FolderImages)
    read_size = _read_decoded_size if decode else _read_header_size
    sizes, num, errors = set(), len(source.files), []
    with progress(console, num, "files") as show:
        for number in range(num):
            try:
                sizes.add(read_size(source.path(number)))
            except Exception as error:  # what a broken file raises depends on its format
                errors.append(f"WRONG: {source.path(number)}, {error}")
            show(number + 1, f"{source.root}: {25 * (4 * (number + 1) // num)} % read")
    return sizes, errors


def _read_header_size(path: str) -> Size:
    with Image.open(path) as image:
        width, height = image.size
    return width, height


def _read_decoded_size(path: str) -> Size:
    image = open_upright(open_image(path))
    image.load()  # decodes all of it
    return image.size


def _print(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
