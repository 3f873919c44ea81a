"""CIFAR from a torchvision download: the same images, without their pickles."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.checks import check_choice, refuse
from softaug.data.coarse import COARSE_NAMES, COARSE_OF_FINE
from softaug.data.fetch import report
from softaug.data.install import alone, installing, telling_of_a_full_disk
from softaug.data.place import data_folder
from softaug.data.releases import RELEASES, Release

DATASETS = {"cifar10": CIFAR10, "cifar100": CIFAR100}


def from_torchvision(
    name: str, root: Path | str, data_dir: Path | str | None, console: Console
) -> None:
    """Write "cifar10" or "cifar100" as the official binary files from torchvision's `root`.

    torchvision's own class compares the md5 of its files and reads them; what is written must
    have the official sha256, or nothing is put in place. A set that is there is only checked.
    """
    check_choice("data", "name", name, tuple(DATASETS))
    release, home = RELEASES[name], data_folder(data_dir)
    with telling_of_a_full_disk(home), alone(home, release, console):
        if not (home / release.folder).exists():
            with installing(home, release) as folder:
                _write(name, Path(root).expanduser(), folder, release)
    report(name, release, home, console)


def _write(name: str, root: Path, folder: Path, release: Release) -> None:
    for train, files in ((True, release.train), (False, release.test)):
        dataset = _open(name, root, train)
        shares = np.array_split(_records(dataset, release), len(files))
        for file, share in zip(files, shares, strict=True):
            (folder / file).write_bytes(share.tobytes())
    names = {"fine": dataset.classes, "coarse": COARSE_NAMES}
    for kind, file in release.names.items():
        (folder / file).write_text("".join(f"{word}\n" for word in names[kind]))


def _open(name: str, root: Path, train: bool) -> Any:
    kind = DATASETS[name]
    try:
        return kind(root, train=train)
    except RuntimeError as wrong:
        rule = f"{root} must hold {kind.base_folder} as torchvision downloads it"
        refuse("data", rule, f"{str(wrong).split('.')[0]!r}", f"`softaug data {name}` gets it")


def _records(dataset: Any, release: Release) -> NDArray[np.uint8]:
    """A row for each image: its labels, then red, green and blue, row by row."""
    fine = np.array(dataset.targets)
    labels = {"fine": fine, "coarse": np.array(COARSE_OF_FINE)[fine]}
    first = np.stack([labels[kind] for kind in release.label_bytes], axis=1).astype(np.uint8)
    pixels = dataset.data.transpose(0, 3, 1, 2).reshape(len(fine), -1)
    return np.concatenate([first, pixels], axis=1)
