"""CIFAR-10 and CIFAR-100 from their official binary release: nothing pickled is read.

A record of the binary files is the label bytes, then 1,024 bytes each of red, green and blue, row
by row.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.checks import refuse
from softaug.lab.data.datasets import DATASETS, ReadOptions
from softaug.lab.data.download import (
    NOT_OFFICIAL,
    FileCheck,
    Release,
    download,
    get_release,
    install,
    read_checked,
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
                yield self._check_records(folder / file, num, sha256)
        for kind, file in self.names.items():
            yield self._check_names(folder / file, kind)

    def _check_records(self, path: Path, num: int, sha256: str) -> FileCheck:
        size, holds = num * self.record_size, f"{num:,} images"
        if not path.is_file():
            return FileCheck(path, "no such file", holds)
        content = path.read_bytes()
        if len(content) != size:
            error = f"{len(content):,} bytes, should be {size:,}"
            return FileCheck(path, error, holds)
        error = "" if hashlib.sha256(content).hexdigest() == sha256 else NOT_OFFICIAL
        for kind, byte in self.label_bytes.items():
            largest = max(content[byte :: self.record_size])
            most = DATASETS[self.name].num_classes[kind] - 1
            if largest > most:
                error = f"{kind} label {largest} is outside 0..{most}"
        return FileCheck(path, error, holds, content)

    def _check_names(self, path: Path, kind: str) -> FileCheck:
        num = DATASETS[self.name].num_classes[kind]
        if not path.is_file():
            return FileCheck(path, "no such file", f"{num} class names")
        # Of the names alone: releases differ in how many line ends follow the last one.
        names = path.read_bytes().split()
        content = b"\n".join(names)
        official = hashlib.sha256(content).hexdigest() == self.names_sha256[kind]
        error = "" if official else NOT_OFFICIAL if len(names) == num else f"{len(names)} names"
        return FileCheck(path, error, f"{num} class names", content)

    def fetch(self, root: Path, console: Console) -> None:
        """Unpack an archive that the user put there, else download it and remove it afterwards."""
        archive = root / self.url.rsplit("/", 1)[-1]
        if archive.exists():
            if error := self._find_error(archive):
                rule = f"{archive} must be the official file"
                refuse("data", rule, error, "remove it, then try again")
            self._unpack(archive, root)
            return
        part = archive.with_name(f"{archive.name}.part")
        by_hand = f"get {self.url} by other means, put it at {archive} and run this again"
        download(self.url, part, self._find_error, console, by_hand)
        self._unpack(part, root)
        part.unlink()

    def _find_error(self, archive: Path) -> str:
        sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
        return "" if sha256 == self.archive_sha256 else f"sha256 {sha256}"

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
    release = RELEASES[name]
    checks = release.check_files(release.locate(options.data_dir))
    contents = read_checked(checks, release.how_to_get(options.data_dir))
    train, test = (
        _parse_records(b"".join(contents[file] for file in files), release, options.labels)
        for files in (release.train, release.test)
    )
    names = contents[release.names[options.labels]].decode().split()
    return ImageData(train, test, tuple(names))


def _parse_records(content: bytes, release: CifarRelease, labels: str) -> Images:
    records = np.frombuffer(content, np.uint8).reshape(-1, release.record_size)
    images = records[:, len(release.label_bytes) :].reshape(-1, 3, 32, 32).copy()
    chosen = records[:, release.label_bytes[labels]].astype(np.int64)
    return Images(torch.from_numpy(images), torch.from_numpy(chosen))


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
    release = RELEASES[name]

    def write(root: Path, console: Console) -> None:
        with install(root, release) as unfinished:
            _write_binary(name, Path(folder).expanduser(), unfinished, release)

    get_release(release, data_dir, console, write)


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
