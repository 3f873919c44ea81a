"""CIFAR-10 and CIFAR-100 from their official binary release: nothing pickled is read."""

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from softaug.checks import check_choice, refuse
from softaug.data.images import ImageData, Images

PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Release:
    """Where a data set's files lie, how they are laid out, and their sha256."""

    folder: str
    train: dict[str, str]  # file name -> sha256
    test: dict[str, str]
    label_bytes: dict[str, int]  # kind of label -> its byte in a record
    names: dict[str, str]  # kind of label -> file of its class names
    num_classes: dict[str, int]
    images_in_file: dict[str, int]

    @property
    def record(self) -> int:
        """Bytes for one image: its labels, then red, green and blue, row by row."""
        return len(self.label_bytes) + PIXELS


RELEASES = {
    "cifar10": Release(
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
    ),
    "cifar100": Release(
        folder="cifar-100-binary",
        train={"train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
        test={"test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
        label_bytes={"coarse": 0, "fine": 1},
        names={"coarse": "coarse_label_names.txt", "fine": "fine_label_names.txt"},
        num_classes={"coarse": 20, "fine": 100},
        images_in_file={"train": 50_000, "test": 10_000},
    ),
}


def cifar(name: str, data_dir: Path | str | None = None, labels: str = "fine") -> ImageData:
    """Training and test images of "cifar10" or "cifar100", uint8, in the official order.

    Files are read from `data_dir`, else from the folder that `SOFTAUG_DATA` names. CIFAR-100
    has "coarse" labels too (20 groups of 5 classes).
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
    root = data_dir or os.environ.get("SOFTAUG_DATA")
    remedy = (
        f"unpack the official {name} binary release (the folder {release.folder}) into a folder "
        "and name that folder by data_dir or SOFTAUG_DATA"
    )
    if root is None:
        refuse("cifar", f"the folder that holds {name} must be known", "none", remedy)
    folder = Path(root) / release.folder
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
    content = bytearray(path.read_bytes())
    if hashlib.sha256(content).hexdigest() != sha256:
        warnings.warn(f"cifar: {path} differs from the official release (sha256)", stacklevel=2)
    return torch.frombuffer(content, dtype=torch.uint8).view(-1, release.record)
