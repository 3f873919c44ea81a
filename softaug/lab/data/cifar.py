"""CIFAR-10 and CIFAR-100 from their official binary release: nothing pickled is read."""

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.checks import check_choice, refuse
from softaug.lab.data.download import alone, installing, report, telling_of_a_full_disk
from softaug.lab.data.images import ImageData, Images
from softaug.lab.data.releases import RELEASES, Release, data_folder, how_to_get, release_folder


def cifar(name: str, data_dir: Path | str | None = None, labels: str = "fine") -> ImageData:
    """Training and test images of "cifar10" or "cifar100", uint8, in the official order.

    Files are read from where `softaug data` puts them (see `data_folder`). CIFAR-100 has
    "coarse" labels too (20 groups of 5 classes).
    """
    check_choice("cifar", "name", name, tuple(RELEASES))
    release = RELEASES[name]
    check_choice("cifar", "labels", labels, tuple(release.label_bytes))
    folder = _find(name, release, data_dir)
    names = tuple((folder / release.names[labels]).read_text().split())
    if len(names) != release.num_classes[labels]:
        rule = f"{release.names[labels]} must name {release.num_classes[labels]} classes"
        refuse("cifar", rule, f"{len(names)} in {folder}")
    return ImageData(
        _read(folder, release, "train", labels), _read(folder, release, "test", labels), names
    )


def _find(name: str, release: Release, data_dir: Path | str | None) -> Path:
    """The folder with the files, all there and of the right size."""
    folder, remedy = release_folder(release, data_dir), how_to_get(name, release, data_dir)
    for split, files in (("train", release.train), ("test", release.test)):
        for file in files:
            _check_file(folder / file, release.images_in_file[split] * release.record, remedy)
    for file in release.names.values():
        _check_file(folder / file, None, remedy)
    return folder


def _check_file(path: Path, size: int | None, remedy: str) -> None:
    if not path.is_file():
        refuse("cifar", f"{path} must be there", "no such file", remedy)
    if size is not None and path.stat().st_size != size:
        refuse("cifar", f"{path} must hold {size} bytes", path.stat().st_size, remedy)


def _read(folder: Path, release: Release, split: str, labels: str) -> Images:
    files = release.train if split == "train" else release.test
    records = torch.cat([_records(folder / file, sha, release) for file, sha in files.items()])
    images = records[:, len(release.label_bytes) :].reshape(-1, 3, 32, 32).contiguous()
    chosen = records[:, release.label_bytes[labels]].long()
    if int(chosen.max()) >= release.num_classes[labels]:
        rule = f"{labels} labels of {folder} must be in 0..{release.num_classes[labels] - 1}"
        refuse("cifar", rule, int(chosen.max()), "get the files again")
    return Images(images, chosen)


def _records(path: Path, sha256: str, release: Release) -> Tensor:
    """The file as [N, bytes of a record]; a checksum that is not the official one is told."""
    content = np.fromfile(path, dtype=np.uint8)
    if hashlib.sha256(content.data).hexdigest() != sha256:
        warnings.warn(f"cifar: {path} differs from the official release (sha256)", stacklevel=2)
    return torch.from_numpy(content).view(-1, release.record)


# The group of each of the 100 classes, the same in all 60,000 records of the binary release.
_GROUPS = """
    4 1 14 8 0 6 7 7 18 3 3 14 9 18 7 11 3 9 7 11
    6 11 5 10 7 6 13 15 3 15 0 11 1 10 12 14 16 9 11 5
    5 19 8 8 15 13 14 17 18 10 16 4 17 4 2 0 17 4 18 17
    10 3 2 12 12 16 12 1 9 19 2 10 0 1 16 12 9 13 15 13
    16 19 2 4 6 19 5 5 8 19 18 1 2 15 6 0 17 8 14 13
"""
COARSE_OF_FINE = tuple(int(group) for group in _GROUPS.split())

_NAMES = """
    aquatic_mammals fish
    flowers food_containers
    fruit_and_vegetables household_electrical_devices
    household_furniture insects
    large_carnivores large_man-made_outdoor_things
    large_natural_outdoor_scenes large_omnivores_and_herbivores
    medium_mammals non-insect_invertebrates
    people reptiles
    small_mammals trees
    vehicles_1 vehicles_2
"""
COARSE_NAMES = tuple(_NAMES.split())


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
        shares = np.array_split(_records_convert(dataset, release), len(files))
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


def _records_convert(dataset: Any, release: Release) -> NDArray[np.uint8]:
    """A row for each image: its labels, then red, green and blue, row by row."""
    fine = np.array(dataset.targets)
    labels = {"fine": fine, "coarse": np.array(COARSE_OF_FINE)[fine]}
    first = np.stack([labels[kind] for kind in release.label_bytes], axis=1).astype(np.uint8)
    pixels = dataset.data.transpose(0, 3, 1, 2).reshape(len(fine), -1)
    return np.concatenate([first, pixels], axis=1)
