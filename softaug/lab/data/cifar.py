"""CIFAR-10 and CIFAR-100 from their official binary release: nothing pickled is read.

A record of the binary files is the label bytes, then 1,024 bytes each of red, green and blue, row
by row.
"""

import hashlib
import tarfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.checks import check_choice, refuse
from softaug.lab.data.datasets import ReadOptions, data_root
from softaug.lab.data.download import (
    NOT_OFFICIAL,
    FileCheck,
    Release,
    download_checked,
    explain_full_disk,
    hash_file,
    install,
    lock_release,
    print_checks,
)
from softaug.lab.data.images import ImageData, Images

NUM_PIXELS = 3 * 32 * 32


@dataclass(frozen=True, kw_only=True)
class CifarRelease(Release):
    """Files of records in an archive."""

    train: dict[str, str]  # file name -> sha256
    test: dict[str, str]
    label_bytes: dict[str, int]  # kind of label -> its byte in a record
    names: dict[str, str]  # kind of label -> file of its class names
    num_classes: dict[str, int]
    images_in_file: dict[str, int]
    names_sha256: dict[str, str]  # kind of label -> that of its names, joined by line ends
    archive_sha256: str

    @property
    def record_size(self) -> int:
        """Bytes for one image with its labels."""
        return len(self.label_bytes) + NUM_PIXELS

    def check_files(self, folder: Path) -> Iterator[FileCheck]:
        for split, files in (("train", self.train), ("test", self.test)):
            num = self.images_in_file[split]
            for file, sha256 in files.items():
                error = self._find_error(folder / file, num * self.record_size, sha256)
                yield FileCheck(file, error, f"{num:,} images, sha256 official")
        for kind, file in self.names.items():
            error = _find_names_error(folder / file, self.names_sha256[kind])
            yield FileCheck(file, error, f"{self.num_classes[kind]} class names, official")

    def _find_error(self, path: Path, size: int, sha256: str) -> str:
        if not path.is_file():
            return "missing"
        if path.stat().st_size != size:
            return f"{path.stat().st_size:,} bytes, should be {size:,}"
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == sha256:
            return ""
        errors = [NOT_OFFICIAL]
        for kind, byte in self.label_bytes.items():
            largest, most = max(content[byte :: self.record_size]), self.num_classes[kind] - 1
            if largest > most:
                errors.append(f"{kind} label {largest} is outside 0..{most}")
        return ", ".join(errors)

    def fetch(self, root: Path, console: Console) -> None:
        """Unpack an archive that the user put there, else download it and remove it afterwards."""
        archive = root / self.url.rsplit("/", 1)[-1]
        if archive.exists():
            self._check_archive(archive, "remove it, then try again")
            self._unpack(archive, root)
            return
        part = archive.with_name(f"{archive.name}.part")
        by_hand = f"get {self.url} by other means, put it at {archive} and run this again"
        download_checked(self.url, part, self._check_archive, console, by_hand)
        self._unpack(part, root)
        part.unlink()

    def _check_archive(self, path: Path, remedy: str) -> None:
        sha256 = hash_file(path)
        if sha256 != self.archive_sha256:
            rule = f"{path} must have the official sha256 {self.archive_sha256}"
            refuse("data", rule, sha256, remedy)

    def _unpack(self, archive: Path, root: Path) -> None:
        """Put the release's files in place; leave other files of its folder (a readme) packed."""
        wanted = {*self.train, *self.test, *self.names.values()}
        with install(root, self) as folder, tarfile.open(archive, "r:gz") as packed:
            for member in packed:
                top, *below = PurePosixPath(member.name).parts
                if top != self.folder or len(below) > 1 or not (member.isfile() or member.isdir()):
                    rule = f"{archive.name} must hold plain files in {self.folder} alone"
                    refuse("data", rule, member.name, "nothing was put in place")
                if below and below[0] in wanted and member.isfile():
                    member.name = below[0]
                    packed.extract(member, folder, filter="data")


def _find_names_error(path: Path, sha256: str) -> str:
    if not path.is_file():
        return "missing"
    # Of the words alone: releases differ in how many line ends follow the last name.
    names = b"\n".join(path.read_bytes().split())
    return "" if hashlib.sha256(names).hexdigest() == sha256 else "class names differ"


RELEASES = {
    "cifar10": CifarRelease(
        name="cifar10",
        folder="cifar-10-batches-bin",
        train={
            "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        },
        test={"test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
        label_bytes={"fine": 0},
        names={"fine": "batches.meta.txt"},
        num_classes={"fine": 10},
        images_in_file={"train": 10_000, "test": 10_000},
        names_sha256={"fine": "bb3914949cecedee6d1257f7f5fdb8f43fa3b2c8095fd1763161caf1b873fe59"},
        url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        archive_sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    "cifar100": CifarRelease(
        name="cifar100",
        folder="cifar-100-binary",
        train={"train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
        test={"test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
        label_bytes={"coarse": 0, "fine": 1},
        names={"coarse": "coarse_label_names.txt", "fine": "fine_label_names.txt"},
        num_classes={"coarse": 20, "fine": 100},
        images_in_file={"train": 50_000, "test": 10_000},
        names_sha256={
            "coarse": "9b48b836d98e8782057bb6a4da0d4030fe828e2b156b81fa835fda91b5276930",
            "fine": "fbe8ad23bbaf24969898a386833b49c3aaf6ad1119d43f7b41cdea1b3416d578",
        },
        url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        archive_sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
}


def read_cifar(name: str, options: ReadOptions) -> ImageData:
    """Read "cifar10" or "cifar100", uint8 [N, 3, 32, 32], in the official order.

    CIFAR-100 has "coarse" labels too (20 groups of 5 classes).
    """
    release, labels = RELEASES[name], options.labels
    folder = release.locate(options.data_dir)
    remedy = release.how_to_get(options.data_dir)
    for split, files in (("train", release.train), ("test", release.test)):
        for file in files:
            _check_size(folder / file, release.images_in_file[split] * release.record_size, remedy)
    for file in release.names.values():
        _check_size(folder / file, None, remedy)
    names = tuple((folder / release.names[labels]).read_text().split())
    if len(names) != release.num_classes[labels]:
        rule = f"{release.names[labels]} must name {release.num_classes[labels]} classes"
        refuse("cifar", rule, f"{len(names)} in {folder}")
    train, test = (
        _read_split(folder, release, files, labels) for files in (release.train, release.test)
    )
    return ImageData(train, test, names)


def _check_size(path: Path, size: int | None, remedy: str) -> None:
    if not path.is_file():
        refuse("cifar", f"{path} must exist", "no such file", remedy)
    if size is not None and path.stat().st_size != size:
        refuse("cifar", f"{path} must hold {size} bytes", path.stat().st_size, remedy)


def _read_split(folder: Path, release: CifarRelease, files: dict[str, str], labels: str) -> Images:
    records = torch.cat([_read_records(folder / file, sha, release) for file, sha in files.items()])
    images = records[:, len(release.label_bytes) :].reshape(-1, 3, 32, 32).contiguous()
    chosen = records[:, release.label_bytes[labels]].long()
    if int(chosen.max()) >= release.num_classes[labels]:
        rule = f"{labels} labels of {folder} must be in 0..{release.num_classes[labels] - 1}"
        refuse("cifar", rule, int(chosen.max()), "get the files again")
    return Images(images, chosen)


def _read_records(path: Path, sha256: str, release: CifarRelease) -> Tensor:
    """Read a file as [N, record_size]; warn if the checksum is not the official one."""
    content = np.fromfile(path, dtype=np.uint8)
    if hashlib.sha256(content.data).hexdigest() != sha256:
        warnings.warn(f"cifar: {path} differs from the official release (sha256)", stacklevel=2)
    return torch.from_numpy(content).view(-1, release.record_size)


# The group of each of the 100 classes, the same in all 60,000 records of the binary release.
_GROUPS = """
    4 1 14 8 0 6 7 7 18 3 3 14 9 18 7 11 3 9 7 11
    6 11 5 10 7 6 13 15 3 15 0 11 1 10 12 14 16 9 11 5
    5 19 8 8 15 13 14 17 18 10 16 4 17 4 2 0 17 4 18 17
    10 3 2 12 12 16 12 1 9 19 2 10 0 1 16 12 9 13 15 13
    16 19 2 4 6 19 5 5 8 19 18 1 2 15 6 0 17 8 14 13
"""
COARSE_OF_FINE = tuple(int(group) for group in _GROUPS.split())

_COARSE_NAMES = """
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
COARSE_NAMES = tuple(_COARSE_NAMES.split())

TORCHVISION = {"cifar10": CIFAR10, "cifar100": CIFAR100}


def convert_from_torchvision(
    name: str, folder: Path | str, data_dir: Path | str | None, console: Console
) -> None:
    """Write "cifar10" or "cifar100" as the official binary files from torchvision's `folder`.

    torchvision's own class compares the md5 of its files and reads them; what is written must
    have the official sha256, or nothing is put in place. Existing files are only checked.
    """
    check_choice("data", "name", name, tuple(TORCHVISION))
    release, root = RELEASES[name], data_root(data_dir)
    with explain_full_disk(root), lock_release(root, release, console):
        if not (root / release.folder).exists():
            with install(root, release) as unfinished:
                _write_binary(name, Path(folder).expanduser(), unfinished, release)
    print_checks(release, root, console)


def _write_binary(name: str, source: Path, folder: Path, release: CifarRelease) -> None:
    for train, files in ((True, release.train), (False, release.test)):
        dataset = _open_torchvision(name, source, train)
        shares = np.array_split(_to_records(dataset, release), len(files))
        for file, share in zip(files, shares, strict=True):
            (folder / file).write_bytes(share.tobytes())
    names = {"fine": dataset.classes, "coarse": COARSE_NAMES}
    for kind, file in release.names.items():
        (folder / file).write_text("".join(f"{word}\n" for word in names[kind]))


def _open_torchvision(name: str, source: Path, train: bool) -> Any:
    dataset_class = TORCHVISION[name]
    try:
        return dataset_class(source, train=train)
    except RuntimeError as error:
        rule = f"{source} must hold {dataset_class.base_folder} as torchvision downloads it"
        refuse("data", rule, f"{str(error).split('.')[0]!r}", f"`softaug data {name}` gets it")


def _to_records(dataset: Any, release: CifarRelease) -> NDArray[np.uint8]:
    """Convert torchvision's images [N, 32, 32, 3] and labels to rows of bytes, [N, record_size]."""
    fine = np.array(dataset.targets)
    labels = {"fine": fine, "coarse": np.array(COARSE_OF_FINE)[fine]}
    first = np.stack([labels[kind] for kind in release.label_bytes], axis=1).astype(np.uint8)
    pixels = dataset.data.transpose(0, 3, 1, 2).reshape(len(fine), -1)
    return np.concatenate([first, pixels], axis=1)
