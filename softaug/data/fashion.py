"""Fashion-MNIST from its official files, gzipped or plain: nothing pickled is read."""

import hashlib
import warnings
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from softaug.checks import refuse
from softaug.data.idx import open_idx, times, values
from softaug.data.images import ImageData, Images
from softaug.data.place import how_to_get, release_folder
from softaug.data.releases import IDX_RELEASES, IdxFile

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
