"""Fashion-MNIST, and the small part of it that comes with softaug, from IDX files.

Nothing pickled is read. `fashion-mini` is 200 training and 200 test images of each class, made by
studies/make_fashion_mini.py.
"""

import gzip
import hashlib
import math
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.datasets import ReadOptions
from softaug.lab.data.download import (
    NOT_OFFICIAL,
    FileCheck,
    Package,
    Release,
    download_checked,
    install,
)
from softaug.lab.data.images import ImageData, Images

CLASS_NAMES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
MINI_FOLDER = Path(__file__).parent / "fashion_mini"
GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 0x0800  # of an IDX file's magic number; the number of dimensions is added


class IdxFile(NamedTuple):
    """What an IDX file must hold; its sha256 is that of the unpacked content."""

    name: str  # .gz is added for the gzipped one
    shape: tuple[int, ...]
    sha256: str

    @property
    def holds_labels(self) -> bool:
        return len(self.shape) == 1

    def path(self, folder: Path) -> Path:
        """Return the plain file if it exists, else the gzipped one."""
        plain = folder / self.name
        return plain if plain.is_file() else folder / f"{self.name}.gz"


@dataclass(frozen=True, kw_only=True)
class IdxRelease(Release):
    """A data set of gray images in four IDX files, each downloaded on its own."""

    train: tuple[IdxFile, IdxFile]  # images, labels
    test: tuple[IdxFile, IdxFile]

    def locate(self, data_dir: Path | str | None = None) -> Path:
        """Return the folder in `data_root`, or if there is none, that of an installed package."""
        own = super().locate(data_dir)
        if own.exists() or self.package is None:
            return own
        packaged = self.package.folder
        files = (file.path(packaged) for file in (*self.train, *self.test))
        return packaged if all(path.is_file() for path in files) else own

    def check_files(self, folder: Path) -> Iterator[FileCheck]:
        for file in (*self.train, *self.test):
            path, what = file.path(folder), "labels" if file.holds_labels else "images"
            content = f"{file.shape[0]:,} {what}, sha256 official"
            yield FileCheck(path.name, find_error(path, file), content)

    def fetch(self, root: Path, console: Console) -> None:
        by_hand = f"put the files of {self.url} into {root / self.folder} by other means"
        by_hand += f", or use {self.package.command}" if self.package else ""
        parts: dict[str, Path] = {}
        for file in (*self.train, *self.test):
            name = f"{file.name}.gz"
            parts[name] = root / f"{self.folder}-{name}.part"

            def check(path: Path, remedy: str, file: IdxFile = file) -> None:
                if error := find_error(path, file):
                    refuse("data", f"{path} must hold the official {file.name}", error, remedy)

            download_checked(self.url + name, parts[name], check, console, by_hand)
        with install(root, self) as folder:
            for name, part in parts.items():
                part.rename(folder / name)


def describe_files(split: str, num: int, images: str, labels: str) -> tuple[IdxFile, IdxFile]:
    """Describe the files of a split by the sha256 of its images and labels."""
    return (
        IdxFile(f"{split}-images-idx3-ubyte", (num, 28, 28), images),
        IdxFile(f"{split}-labels-idx1-ubyte", (num,), labels),
    )


FASHION_MNIST = IdxRelease(
    name="fashion-mnist",
    folder="fashion-mnist",
    url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    package=Package("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist")),
    train=describe_files(
        "train",
        60_000,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    test=describe_files(
        "t10k",
        10_000,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)
RELEASES = {"fashion-mnist": FASHION_MNIST}

MINI_FILES = (
    *describe_files(
        "train",
        2_000,
        "1e6cc851203692ca7045e56a57f8d55dd59f4969abe5e4733a6eb5b272258375",
        "1cd5f80f0f74ee09d080b6489f7bcd12da2d5fd894c7708c0f92f7fed89dd95d",
    ),
    *describe_files(
        "t10k",
        2_000,
        "614601b2beeb539796f2a91cc33309069ecdedd981a9a7998f96571a198e5c98",
        "a5c3bf6f7ff57d9add5ae6a4a6254500328ba8c7724481cd4eb33751f3ea3ef9",
    ),
)


def read_fashion_mnist(name: str, options: ReadOptions) -> ImageData:
    """Read 60,000 training and 10,000 test images, uint8 [N, 3, 28, 28], in the official order.

    They are gray, in three equal channels.
    """
    release = RELEASES[name]
    folder, remedy = release.locate(options.data_dir), release.how_to_get(options.data_dir)
    train, test = (_read_split(folder, files, remedy) for files in (release.train, release.test))
    return ImageData(train, test, CLASS_NAMES)


def read_fashion_mini(name: str, options: ReadOptions) -> ImageData:
    """Read the 2,000 training and 2,000 test images in the package, uint8 [N, 3, 28, 28].

    They are gray, in three equal channels.
    """
    remedy = "install softaug again"
    for file in MINI_FILES:
        if error := find_error(file.path(MINI_FOLDER), file):
            refuse(name, f"{file.path(MINI_FOLDER)} must be as it was packaged", error, remedy)
    train, test = (
        _read_split(MINI_FOLDER, files, remedy) for files in (MINI_FILES[:2], MINI_FILES[2:])
    )
    return ImageData(train, test, CLASS_NAMES)


def _read_split(folder: Path, files: tuple[IdxFile, ...], remedy: str) -> Images:
    gray, labels = (_read_values(file.path(folder), file, remedy) for file in files)
    if int(labels.max()) >= len(CLASS_NAMES):
        rule = f"labels of {files[1].path(folder)} must be in 0..{len(CLASS_NAMES) - 1}"
        refuse("fashion_mnist", rule, int(labels.max()), remedy)
    images = np.repeat(gray[:, None], 3, axis=1)  # [N, 3, 28, 28]
    return Images(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))


def _read_values(path: Path, file: IdxFile, remedy: str) -> NDArray[np.uint8]:
    """Read a file's values; warn if the checksum is not the official one."""
    if not path.is_file():
        refuse("fashion_mnist", f"{path} must exist", "no such file", remedy)
    content, error = read_idx(path, file.shape)
    if error:
        rule = f"{path} must be an IDX file of {format_shape(file.shape)} bytes"
        refuse("fashion_mnist", rule, error, remedy)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        warnings.warn(
            f"fashion_mnist: {path} differs from the official release (sha256)", stacklevel=2
        )
    return parse_idx(content, file.shape)


def find_error(path: Path, file: IdxFile) -> str:
    """Return what is wrong with an IDX file; nothing if its content is the official one."""
    if not path.is_file():
        return "missing"
    content, error = read_idx(path, file.shape)
    if error or hashlib.sha256(content).hexdigest() == file.sha256:
        return error
    largest, most = int(parse_idx(content, file.shape).max()), len(CLASS_NAMES) - 1
    if file.holds_labels and largest > most:
        return f"{NOT_OFFICIAL}, label {largest} is outside 0..{most}"
    return NOT_OFFICIAL


def read_idx(path: Path, shape: tuple[int, ...]) -> tuple[bytes, str]:
    """Read an IDX file of bytes in this shape, gzipped or plain, whatever its name.

    Return the unpacked bytes, and what is wrong with them: nothing if empty. One byte more than
    the shape takes is unpacked at most: a small file may hold a very large one.
    """
    most = _header_size(shape) + math.prod(shape) + 1
    with path.open("rb") as file:
        gzipped = file.read(len(GZIP)) == GZIP
        file.seek(0)
        try:  # gzip is read to its end, where its checksum is compared
            content = (gzip.GzipFile(fileobj=file) if gzipped else file).read(most)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            return b"", f"a broken gzip file ({error})"
    return content, _check_idx(content, shape)


def parse_idx(content: bytes, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return the bytes after the header in this shape, read-only.

    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), (3,))
    array([7, 8, 9], dtype=uint8)
    """
    return np.frombuffer(content, np.uint8, offset=_header_size(shape)).reshape(shape)


def format_shape(shape: tuple[int, ...]) -> str:
    """Format a shape for a message.

    >>> format_shape((60000, 28, 28))
    '60,000 x 28 x 28'
    """
    return " x ".join(f"{edge:,}" for edge in shape)


def _header_size(shape: tuple[int, ...]) -> int:
    """Count four bytes for the magic number and four for each dimension."""
    return 4 + 4 * len(shape)


def _check_idx(content: bytes, shape: tuple[int, ...]) -> str:
    header, magic = _header_size(shape), UNSIGNED_BYTES + len(shape)
    size = header + math.prod(shape)
    if len(content) < header:
        return f"{len(content)} bytes, should be {size:,}"
    first, *edges = (int.from_bytes(content[at : at + 4], "big") for at in range(0, header, 4))
    if first != magic:
        return f"magic number {first}, should be {magic}"
    if tuple(edges) != shape:
        return f"dimensions {format_shape(tuple(edges))}, should be {format_shape(shape)}"
    if len(content) > size:
        return f"more than {size:,} bytes"
    return "" if len(content) == size else f"{len(content):,} bytes, should be {size:,}"
