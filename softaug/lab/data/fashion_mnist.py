"""Fashion-MNIST from its official files, gzipped or plain: nothing pickled is read."""

import gzip
import hashlib
import math
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from softaug.checks import refuse
from softaug.lab.data.images import ImageData, Images
from softaug.lab.data.releases import IDX_RELEASES, IdxFile, how_to_get, release_folder

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 0x0800  # of a magic number; the number of dimensions is added


class Opened(NamedTuple):
    """What a file holds, and what keeps it from being the IDX file wanted: nothing if it is."""

    content: bytes  # unpacked
    wrong: str


def open_idx(path: Path, shape: tuple[int, ...]) -> Opened:
    """Read a file of bytes in this shape, gzipped or plain, whatever it is called.

    No more is unpacked than that takes, and one byte: a small file may hold a very large one.
    """
    most = _head(shape) + math.prod(shape) + 1
    with path.open("rb") as file:
        gzipped = file.read(len(GZIP)) == GZIP
        file.seek(0)
        if not gzipped:
            content = file.read(most)
            return Opened(content, _wrong(content, shape))
        try:
            with gzip.open(file) as packed:
                content = packed.read(most)  # to its end, where its checksum is compared
        except (EOFError, gzip.BadGzipFile, zlib.error) as broken:
            return Opened(b"", f"a broken gzip file ({broken})")
    return Opened(content, _wrong(content, shape))


def values(content: bytes, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The bytes after the head, in this shape; not to be written to.

    >>> values(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), (3,))
    array([7, 8, 9], dtype=uint8)
    """
    return np.frombuffer(content, np.uint8, offset=_head(shape)).reshape(shape)


def times(shape: tuple[int, ...]) -> str:
    """A shape as people write it.

    >>> times((60000, 28, 28))
    '60,000 x 28 x 28'
    """
    return " x ".join(f"{edge:,}" for edge in shape)


def _head(shape: tuple[int, ...]) -> int:
    """Bytes before the values: four for the magic number, four for each dimension."""
    return 4 + 4 * len(shape)


def _wrong(content: bytes, shape: tuple[int, ...]) -> str:
    head, magic = _head(shape), UNSIGNED_BYTES + len(shape)
    size = head + math.prod(shape)
    if len(content) < head:
        return f"{len(content)} bytes, should be {size:,}"
    first, *found = (int.from_bytes(content[at : at + 4], "big") for at in range(0, head, 4))
    if first != magic:
        return f"magic number {first}, should be {magic}"
    if tuple(found) != shape:
        return f"dimensions {times(tuple(found))}, should be {times(shape)}"
    if len(content) > size:
        return f"more than {size:,} bytes"
    return "" if len(content) == size else f"{len(content):,} bytes, should be {size:,}"


NAME = "fashion-mnist"
WHO = "fashion_mnist"


def fashion_mnist(data_dir: Path | str | None = None) -> ImageData:
    """60,000 training and 10,000 test images of 28 x 28 pixels, uint8, in the official order.

    They are grey, in three equal channels. Files are read from where `softaug data` puts them
    (see `data_folder`), else from where Debian's package does.
    """
    release = IDX_RELEASES[NAME]
    folder = release_folder(release, data_dir)
    remedy = how_to_get(NAME, release, data_dir)
    num_classes = len(release.class_names)
    train, test = (
        _read(folder, part, num_classes, remedy) for part in (release.train, release.test)
    )
    return ImageData(train, test, release.class_names)


def _read(folder: Path, part: tuple[IdxFile, IdxFile], num_classes: int, remedy: str) -> Images:
    grey, labels = (_values(file.path(folder), file, remedy) for file in part)
    if int(labels.max()) >= num_classes:
        rule = f"labels of {part[1].path(folder)} must be in 0..{num_classes - 1}"
        refuse(WHO, rule, int(labels.max()), remedy)
    images = np.repeat(grey[:, None], 3, axis=1)  # [N, 3, 28, 28]
    return Images(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))


def _values(path: Path, file: IdxFile, remedy: str) -> NDArray[np.uint8]:
    """What the file holds; a checksum that is not the official one is told."""
    if not path.is_file():
        refuse(WHO, f"{path} must be there", "no such file", remedy)
    content, wrong = open_idx(path, file.shape)
    if wrong:
        refuse(WHO, f"{path} must be an IDX file of {times(file.shape)} bytes", wrong, remedy)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        warnings.warn(f"{WHO}: {path} differs from the official release (sha256)", stacklevel=2)
    return values(content, file.shape)
