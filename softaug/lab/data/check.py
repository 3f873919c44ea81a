"""The command `softaug data`: get a data set, or check the files of the one that is there."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.cifar import TORCHVISION, convert_from_torchvision
from softaug.lab.data.datasets import FOLDER, find_dataset, find_release
from softaug.lab.data.decoding import open_image, open_upright
from softaug.lab.data.download import get_release
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import load
from softaug.lab.data.windows import try_read
from softaug.lab.progress import progress


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
        decode: Decode every file of a folder, to name all that cannot be; else they are listed.
    """
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


def _describe_dataset(name: str, data_dir: Path | None, decode: bool, console: Console) -> None:
    """Print images and classes of a data set that is not downloaded; name files that are bad."""
    loaded, num_bad = load(name, data_dir), 0
    for split, source in (("train", loaded.train), ("test", loaded.test)):
        if source is None:
            console.print(f"{split}: none")
            continue
        counts = source.labels.bincount(minlength=len(loaded.class_names)).tolist()
        each = " to ".join(f"{num:,}" for num in sorted({min(counts), max(counts)}))
        console.print(f"{split}: {sum(counts):,} images, {len(counts)} classes of {each} images")
        if decode and isinstance(source, FolderImages):
            errors = _decode_all(source, console)
            num_bad += len(errors)
            for error in errors:
                console.print(f"WRONG: {error}", markup=False)
    if num_bad:
        rule = f"files of {name.removeprefix(FOLDER)} must be images"
        refuse("data", rule, f"{num_bad} that are not", "restore or remove them")


def _decode_all(source: FolderImages, console: Console) -> list[str]:
    """Return "PATH: reason" for each file that cannot be decoded."""
    num, errors = len(source.files), list[str]()
    with progress(console, num, "files") as show:
        for number in range(num):
            try_read(path := source.path(number), errors, _decode, path)
            show(number + 1, f"{source.root}: {25 * (4 * (number + 1) // num)} % read")
    return errors


def _decode(path: str) -> None:
    open_upright(open_image(path)).load()
