"""Fashion-MNIST, and the small part of it that comes with softaug, from IDX files.

Nothing pickled is read. `fashion-mini` is 200 training and 200 test images of each class, made by
studies/make_fashion_mini.py.
"""

import gzip
import hashlib
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from softaug.lab.data.datasets import ReadOptions
from softaug.lab.data.download import (
    NOT_OFFICIAL,
    FileCheck,
    Release,
    download,
    install,
    read_checked,
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

    def path(self, folder: Path) -> Path:
        """Return the plain file if it exists, else the gzipped one."""
        plain = folder / self.name
        return plain if plain.is_file() else folder / f"{self.name}.gz"

    def check(self, path: Path) -> FileCheck:
        """Read the file at `path`; say what is wrong with it."""
        has_labels = len(self.shape) == 1
        holds = f"{self.shape[0]:,} {'labels' if has_labels else 'images'}"
        if not path.is_file():
            return FileCheck(path, "no such file", holds)
        content, error = read_idx(path, self.shape)
        if error:
            return FileCheck(path, error, holds)
        largest, most = int(parse_idx(content, self.shape).max()), len(CLASS_NAMES) - 1
        if has_labels and largest > most:
            error = f"label {largest} is outside 0..{most}"
        elif hashlib.sha256(content).hexdigest() != self.sha256:
            error = NOT_OFFICIAL
        return FileCheck(path, error, holds, content)


@dataclass(frozen=True, kw_only=True)
class IdxRelease(Release):
    """A data set of gray images in four IDX files, each downloaded on its own."""

    files: tuple[IdxFile, ...]  # images and labels to train on, then to test on

    def locate(self, data_dir: Path | str | None = None) -> Path:
        """Return the folder in `data_root`, or if there is none, that of an installed package."""
        own = super().locate(data_dir)
        if own.exists() or self.packaged is None:
            return own
        whole = all(file.path(self.packaged).is_file() for file in self.files)
        return self.packaged if whole else own

    def check_files(self, folder: Path) -> Iterator[FileCheck]:
        return (file.check(file.path(folder)) for file in self.files)

    def fetch(self, root: Path, console: Console) -> None:
        by_hand = f"put the files of {self.url} into {root / self.folder} by other means"
        by_hand += f", or use {self.install_command}" if self.install_command else ""
        parts = {f"{file.name}.gz": file for file in self.files}
        for name, file in parts.items():

            def find_error(part: Path, file: IdxFile = file) -> str:
                return file.check(part).error

            part = root / f"{self.folder}-{name}.part"
            download(self.url + name, part, find_error, console, by_hand)
        with install(root, self) as folder:
            for name in parts:
                (root / f"{self.folder}-{name}.part").rename(folder / name)


def describe_files(num_train: int, num_test: int, *sha256: str) -> tuple[IdxFile, ...]:
    """Describe the files of a data set by their sha256: training images, labels, then test's."""
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    names = [f"{split}-{kind}" for split in ("train", "t10k") for kind in kinds]
    shapes = [shape for num in (num_train, num_test) for shape in ((num, 28, 28), (num,))]
    return tuple(map(IdxFile, names, shapes, sha256))


FASHION_MNIST = IdxRelease(
    name="fashion-mnist",
    folder="fashion-mnist",
    url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    packaged=Path("/usr/share/datasets/fashion-mnist"),
    install_command="`apt-get install dataset-fashion-mnist` on Debian",
    files=describe_files(
        60_000,
        10_000,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)
RELEASES = {"fashion-mnist": FASHION_MNIST}

MINI_FILES = describe_files(
    2_000,
    2_000,
    "1e6cc851203692ca7045e56a57f8d55dd59f4969abe5e4733a6eb5b272258375",
    "1cd5f80f0f74ee09d080b6489f7bcd12da2d5fd894c7708c0f92f7fed89dd95d",
    "614601b2beeb539796f2a91cc33309069ecdedd981a9a7998f96571a198e5c98",
    "a5c3bf6f7ff57d9add5ae6a4a6254500328ba8c7724481cd4eb33751f3ea3ef9",
)


def read_fashion_mnist(name: str, options: ReadOptions) -> ImageData:
    """Read 60,000 training and 10,000 test images, uint8 [N, 3, 28, 28], in the official order.

    They are gray, in three equal channels.
    """
    release = RELEASES[name]
    folder, remedy = release.locate(options.data_dir), release.how_to_get(options.data_dir)
    return _read_files(release.files, folder, remedy)


def read_fashion_mini(name: str, options: ReadOptions) -> ImageData:
    """Read the 2,000 training and 2,000 test images in the package, uint8 [N, 3, 28, 28].

    They are gray, in three equal channels.
    """
    return _read_files(MINI_FILES, MINI_FOLDER, "install softaug again")


def _read_files(files: tuple[IdxFile, ...], folder: Path, remedy: str) -> ImageData:
    contents = read_checked((file.check(file.path(folder)) for file in files), remedy)
    arrays = [parse_idx(contents[file.name], file.shape) for file in files]
    train, test = (_to_images(*arrays[start : start + 2]) for start in (0, 2))
    return ImageData(train, test, CLASS_NAMES)


def _to_images(gray: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Images:
    images = np.repeat(gray[:, None], 3, axis=1)  # [N, 3, 28, 28]
    return Images(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))


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
        return f"dimensions {edges}, should be {list(shape)}"
    if len(content) > size:
        return f"more than {size:,} bytes"
    return "" if len(content) == size else f"{len(content):,} bytes, should be {size:,}"
