"""CIFAR-10 and CIFAR-100 from their official binary release: nothing pickled is read."""

import hashlib
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from softaug.checks import check_choice, refuse
from softaug.data.images import ImageData, Images
from softaug.data.place import how_to_get, release_folder
from softaug.data.releases import RELEASES, Release


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
