"""Images in folders, a folder for each class: decoded when they are fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.data.image_file import ImageFile, open_image
from softaug.data.images import ImageData
from softaug.data.pillow import as_tensor, upright
from softaug.data.windows import WindowBatch, jpeg_scale, read_windows, refuse_file
from softaug.draws import DrawKey
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
