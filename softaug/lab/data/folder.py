"""Images in folders, a folder for each class: decoded when they are fetched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torchvision.models import ResNet50_Weights

from softaug.checks import check_choice, check_whole, refuse
from softaug.draws import DrawKey
from softaug.lab.data.decoding import as_tensor, upright
from softaug.lab.data.images import ImageData
from softaug.lab.data.jpeg import ImageFile, open_image
from softaug.lab.data.releases import data_folder
from softaug.lab.data.windows import WindowBatch, jpeg_scale, read_windows, refuse_file
from softaug.transforms.windows import WindowCrop

ENDINGS = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
TEST_PARTS = ("val", "test")
UNREADABLE = ("refuse", "skip")


@dataclass(frozen=True, eq=False)
class FolderImages:
    """Image files with their labels; small to pickle, so that loader workers can hold it."""

    root: str
    # Bytes in one block: a list of a million strings is copied by every forked worker.
    files: NDArray[np.bytes_]  # [N] paths below root
    labels: Tensor  # [N] int64
    size: int
    resize: int | None = None  # short edge before the centre is kept; None is `size`
    unreadable: str = "refuse"  # or "skip": what happens to a window whose file is broken

    def path(self, number: int) -> str:
        return os.path.join(self.root, os.fsdecode(bytes(self.files[number])))

    def fetch(self, index: Tensor) -> Tensor:
        images = torch.empty(len(index), 3, self.size, self.size, dtype=torch.uint8)
        for image, number in zip(images, index.tolist(), strict=True):
            image.copy_(read_image(self.path(number), self.size, self.resize))
        return images

    def windows(self, index: Tensor, crop: WindowCrop, key: DrawKey) -> WindowBatch:
        """A window of each image at `index` [B], of which no more than that is decoded.

        They are what `crop` gives for the whole images, to the grey level but where a JPEG is
        so large that it is decoded smaller (see `decode_part`). `key.index` belongs to
        `index`, row by row.
        """
        if crop.size != self.size:
            refuse("folder", f"crop.size must be the folder's, {self.size}", crop.size)
        paths = [self.path(number) for number in index.tolist()]
        return read_windows(paths, crop, key, skip=self.unreadable == "skip")

    def take(self, index: Tensor) -> FolderImages:
        return replace(self, files=self.files[index.numpy()], labels=self.labels[index])


def folder(
    path: Path | str, size: int, resize: int | None = None, unreadable: str = "refuse"
) -> ImageData:
    """The images below `path`, each cut to size x size; nothing is decoded yet.

    `resize` is the short edge that they have before they are cut (None is `size`); windows of
    files that are `unreadable` are refused or skipped.

    The tree is path/train/CLASS/... and path/val/CLASS/... (or test; val goes first), or
    path/CLASS/... alone, which has no test part. Classes are in the order of their names,
    images in the order of theirs.
    """
    check_whole("folder", "size", size, least=1)
    if resize is not None:
        check_whole("folder", "resize", resize, least=size)
    check_choice("folder", "unreadable", unreadable, UNREADABLE)
    as_wanted = size, resize, unreadable
    root = Path(path).expanduser().absolute()
    if not root.is_dir():
        refuse("folder", f"{root} must be a folder", "no such folder")
    found = subfolders(root)
    test_parts = [part for part in TEST_PARTS if part in found]
    if "train" not in found:
        if test_parts:
            refuse("folder", f"{root / 'train'} must be there", f"only {', '.join(test_parts)}")
        return ImageData(_list_images(root, found, *as_wanted), None, tuple(found))
    names = subfolders(root / "train")
    train = _list_images(root / "train", names, *as_wanted)
    if not test_parts:
        return ImageData(train, None, tuple(names))
    test = root / test_parts[0]
    _check_same(names, subfolders(test), test)
    return ImageData(train, _list_images(test, names, *as_wanted), tuple(names))


def read_image(path: str, size: int, resize: int | None = None) -> Tensor:
    """The file's RGB pixels, uint8 [3, size, size]: short edge to `resize`, the centre kept.

    `resize` None is `size`: the whole short edge is kept.

    Resized with antialiasing (bilinear, as is usual for ImageNet). A file that cannot be
    decoded is refused by name.
    """
    try:
        return as_tensor(_centre(open_image(path), size, resize or size))
    except MemoryError:  # not the file's fault
        raise
    except Exception as broken:  # what a broken file raises depends on its format
        refuse_file(path, broken)


def _centre(file: ImageFile, size: int, short: int) -> Image.Image:
    """Size / short of the largest centred square, resized: only what is kept is computed."""
    scale = jpeg_scale(file, min(file.height, file.width), short)
    image = upright(file, scale).convert("RGB")  # a 12 MP JPEG takes 44 ms, not 154
    edge = min(image.size) * size / short
    left, top = ((length - edge) / 2 for length in image.size)
    box = (left, top, left + edge, top + edge)
    return image.resize((size, size), Image.Resampling.BILINEAR, box=box)


def subfolders(path: Path) -> list[str]:
    """Names of the folders in one, in their order; one that cannot be read is refused."""
    return sorted(entry.name for entry in _entries(path) if entry.is_dir())


def _list_images(
    root: Path, names: list[str], size: int, resize: int | None, unreadable: str
) -> FolderImages:
    """Every image of every class, listed but not opened."""
    if not names:
        rule = f"{root} must hold a folder for each class"
        refuse("folder", rule, "none", "put images in CLASS/, or in train/CLASS/ and val/CLASS/")
    files: list[bytes] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        members = sorted(_image_files(root / name))
        if not members:
            rule = f"{root / name} must hold images ({' '.join(ENDINGS)})"
            refuse("folder", rule, "none", "add some or remove the folder")
        files += (os.fsencode(member.removeprefix(f"{root}{os.sep}")) for member in members)
        labels += [label] * len(members)
    return FolderImages(str(root), np.array(files), torch.tensor(labels), size, resize, unreadable)


def _image_files(path: Path | str) -> Iterator[str]:
    """Images at any depth."""
    for entry in _entries(path):
        if entry.is_dir():
            yield from _image_files(entry.path)
        elif entry.name.lower().endswith(ENDINGS):
            yield entry.path


def _entries(path: Path | str) -> list[os.DirEntry[str]]:
    """What a folder holds; hidden files (such as macOS's ._name.jpg) are left out."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as broken:
        refuse("folder", f"{path} must be a folder that can be read", broken.strerror)


def _check_same(train: list[str], test: list[str], path: Path) -> None:
    differing = sorted({*train} ^ {*test})
    if differing:
        told = (f"{'no' if name in train else 'also'} {name}" for name in differing[:5])
        rule = f"{path} must have the same classes as train"
        refuse("folder", rule, ", ".join(told) + (" ..." if len(differing) > 5 else ""))


PARTS = ("train", "val")


class Photos(NamedTuple):
    """A data set of photographs that is looked for, never fetched."""

    num_classes: int
    how: str
    """how to get it; {place} is where it must lie then"""


PHOTOS = {
    "imagenet": Photos(
        1000,
        "it cannot be fetched for you: register at https://image-net.org/download, get "
        "ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz, "
        "unpack them with torchvision.datasets.ImageNet(ROOT, split) for the splits train and "
        "val (it needs scipy), then `ln -s ROOT {place}`",
    ),
    "imagenette": Photos(
        10,
        "get https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-320.tgz (or another size), "
        "unpack it, then `ln -s UNPACKED {place}`",
    ),
}


def photos(
    name: str,
    data_dir: Path | str | None,
    size: int,
    resize: int | None = None,
    unreadable: str = "refuse",
) -> ImageData:
    """The images of "imagenet" or "imagenette" in that folder of `data_dir` (see `folder`).

    Labels are the places of the WordNet numbers in their order, as torchvision's are.
    """
    root = data_folder(data_dir).absolute() / name
    for part in PARTS:
        _check_part(root / part, PHOTOS[name], root)
    return folder(root, size, resize, unreadable)


def _check_part(path: Path, wanted: Photos, root: Path) -> None:
    """Refuse a part that is missing or has other classes, with what to do."""
    remedy = wanted.how.format(place=root)
    if not path.is_dir():
        refuse("data", f"{path} must be a folder", "no such folder", remedy)
    names = subfolders(path)
    strange = [name for name in names if not re.fullmatch(r"n[0-9]{8}", name)]
    if strange or len(names) != wanted.num_classes:
        rule = f"{path} must hold {wanted.num_classes} folders named n and eight digits"
        got = f"{len(names)} folders" + (f", {strange[0]} among them" if strange else "")
        refuse("data", rule, got, remedy)


IMAGENETTE = {
    "n01440764": "tench",
    "n02102040": "English springer",
    "n02979186": "cassette player",
    "n03000684": "chain saw",
    "n03028079": "church",
    "n03394916": "French horn",
    "n03417042": "garbage truck",
    "n03425413": "gas pump",
    "n03445777": "golf ball",
    "n03888257": "parachute",
}


def class_words(names: Sequence[str]) -> list[str]:
    """Classes as people call them; names that are no known WordNet numbers stay as they are.

    `names` are in their order, as `folder` has them.

    >>> class_words(["cat", "n03445777"])
    ['cat', 'golf ball']
    """
    imagenet: list[str] = ResNet50_Weights.IMAGENET1K_V2.meta["categories"]  # in the same order
    if len(names) == len(imagenet) and set(names) >= IMAGENETTE.keys():
        return list(imagenet)
    return [IMAGENETTE.get(name, name) for name in names]
