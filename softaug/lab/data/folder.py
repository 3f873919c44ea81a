"""Images in files, a folder for each class: decoded when they are fetched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.lab.data.datasets import DATASETS, FOLDER, ReadOptions, data_root
from softaug.lab.data.decoding import open_image, open_upright, to_tensor
from softaug.lab.data.images import ImageData, Source, hold_out_share
from softaug.lab.data.windows import (
    WindowBatch,
    choose_jpeg_scale,
    format_list,
    read_windows,
    try_read,
)
from softaug.transforms.windows import WindowCrop

ENDINGS = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
TEST_SPLITS = ("val", "test")


@dataclass(frozen=True, eq=False)
class FolderImages:
    """Image files with their labels; small to pickle, so that loader workers can hold it."""

    root: str
    # Bytes in one block: a list of a million strings is copied by every forked worker.
    files: NDArray[np.bytes_]  # [N] paths below root
    labels: Tensor  # [N] int64
    size: int
    resize: int | None = None  # short edge before the center is kept; None is `size`
    unreadable: str = "refuse"  # or "skip": what happens to a window whose file is broken

    def path(self, number: int) -> str:
        return os.path.join(self.root, os.fsdecode(bytes(self.files[number])))

    def sizes(self) -> list[int]:
        """Return the bytes of each file; -1 of one that has vanished."""
        return [_count_bytes(self.path(number)) for number in range(len(self.files))]

    def read_bytes(self, number: int) -> bytes:
        """Return what is in a file; nothing of one that has vanished."""
        path = Path(self.path(number))
        return path.read_bytes() if path.is_file() else b""

    def fetch(self, index: Tensor) -> Tensor:
        images = torch.empty(len(index), 3, self.size, self.size, dtype=torch.uint8)
        for image, number in zip(images, index.tolist(), strict=True):
            image.copy_(read_image(self.path(number), self.size, self.resize))
        return images

    def windows(self, index: Tensor, crop: WindowCrop, key: DrawKey) -> WindowBatch:
        """Read a window of each image at `index` [B], decoding no more than that.

        The pixels are those of `crop` on the whole images, except where a JPEG is so large that
        it is decoded smaller (see `decode_part`). `key.index` belongs to `index`, row by row.
        """
        if crop.size != self.size:
            refuse("folder", f"crop.size must be the folder's, {self.size}", crop.size)
        paths = [self.path(number) for number in index.tolist()]
        return read_windows(paths, crop, key, self.unreadable == "skip", self.labels[index])

    def take(self, index: Tensor) -> FolderImages:
        return replace(self, files=self.files[index.numpy()], labels=self.labels[index])


def _count_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def read_folder(name: str, options: ReadOptions) -> ImageData:
    """Read "folder:PATH"; see `open_folder`."""
    path = name.removeprefix(FOLDER)
    data = open_folder(path, options.size, options.resize, options.unreadable)
    if not options.test_share:
        return data
    if data.test is not None:
        rule = f"test_share is for a folder without val or test; {path} must have neither"
        refuse("folder", rule, Path(cast(FolderImages, data.test).root).name, "leave it out")
    train, test = hold_out_share(data.train, options.test_share, options.seed)
    return ImageData(train, test, data.class_names)


def open_folder(
    path: Path | str, size: int, resize: int | None = None, unreadable: str = "refuse"
) -> ImageData:
    """List the images below `path`, to be cut to size x size; none is decoded yet.

    `resize` is the short edge that they have before they are cut (None is `size`); windows of
    files that are `unreadable` are refused or skipped.

    The tree is path/train/CLASS/... and path/val/CLASS/... (or test; val goes first), or
    path/CLASS/... alone, which has no test split. Classes and images are sorted by name.
    """
    settings = size, resize, unreadable
    root = Path(path).expanduser().absolute()
    folders = list_subfolders(root)
    train = root / "train" if "train" in folders else root
    test = next((root / split for split in TEST_SPLITS if split in folders), None)
    if test is not None and train == root:
        refuse("folder", f"{root / 'train'} must exist", f"only {test.name}")
    names = list_classes(train)
    train_images = _list_images(train, names, *settings)
    if test is None:
        return ImageData(train_images, None, tuple(names))
    if differing := sorted({*names} ^ {*list_classes(test)}):
        wrong = [f"{'no' if name in names else 'also'} {name}" for name in differing[:5]]
        refuse("folder", f"{test} must have the same classes as train", ", ".join(wrong))
    return ImageData(train_images, _list_images(test, names, *settings), tuple(names))


def read_image(path: str, size: int, resize: int | None = None) -> Tensor:
    """Read RGB pixels, uint8 [3, size, size]: resize the short edge to `resize`, crop the center.

    `resize` None is `size`: the whole short edge is kept. Resizing is bilinear with antialiasing,
    as is usual for ImageNet. A file that cannot be decoded is refused by name.
    """
    image = try_read(path, None, _read_center, path, size, resize or size)
    assert image is not None
    return to_tensor(image)


def _read_center(path: str, size: int, short: int) -> Image.Image:
    """Resize `size / short` of the largest centered square: only what is kept is computed."""
    file = open_image(path)
    scale = choose_jpeg_scale(file, min(file.height, file.width), short)
    image = open_upright(file, scale).convert("RGB")  # a 12 MP JPEG takes 44 ms, not 154
    edge = min(image.size) * size / short
    left, top = ((length - edge) / 2 for length in image.size)
    box = (left, top, left + edge, top + edge)
    return image.resize((size, size), Image.Resampling.BILINEAR, box=box)


def list_subfolders(path: Path) -> list[str]:
    """List the folders in a folder, sorted by name; refuse one that cannot be read."""
    return sorted(entry.name for entry in _scan(path) if entry.is_dir())


def list_classes(path: Path) -> list[str]:
    """List the folders of classes; refuse links, which may lead anywhere."""
    names = list_subfolders(path)
    for name in names:
        if (path / name).is_symlink():
            rule = f"{path} must hold its images itself"
            refuse("folder", rule, f"a link, {name}", "put a copy in its place")
    return names


def _list_images(
    root: Path, names: list[str], size: int, resize: int | None, unreadable: str
) -> FolderImages:
    """List every image of every class; open none."""
    if not names:
        rule = f"{root} must hold a folder for each class"
        refuse("folder", rule, "none", "put images in CLASS/, or in train/CLASS/ and val/CLASS/")
    files: list[bytes] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        members = sorted(find_images(root / name))
        if not members:
            rule = f"{root / name} must hold images ({' '.join(ENDINGS)})"
            refuse("folder", rule, "none", "add some or remove the folder")
        files += (os.fsencode(member.removeprefix(f"{root}{os.sep}")) for member in members)
        labels += [label] * len(members)
    return FolderImages(str(root), np.array(files), torch.tensor(labels), size, resize, unreadable)


def find_images(path: Path | str) -> Iterator[str]:
    """Find the images at any depth; refuse what is no regular file, or is elsewhere."""
    for entry in _scan(path):
        if entry.is_dir(follow_symlinks=False):
            yield from find_images(entry.path)
        elif entry.is_symlink() and (entry.is_dir() or entry.name.lower().endswith(ENDINGS)):
            rule = f"{path} must hold its images itself"
            refuse("folder", rule, f"a link, {entry.name}", "put a copy in its place")
        elif entry.name.lower().endswith(ENDINGS):
            if not entry.is_file():
                refuse("folder", f"images in {path} must be regular files", entry.name, "remove it")
            yield entry.path


def _scan(path: Path | str) -> list[os.DirEntry[str]]:
    """List what a folder holds but hidden files (such as macOS's ._name.jpg)."""
    try:
        return [entry for entry in os.scandir(path) if not entry.name.startswith(".")]
    except OSError as error:
        refuse("folder", f"{path} must be a folder that can be read", error.strerror)


def check_files(source: Source) -> None:
    """Refuse all files of `source` that are not whole images, at once; read them, not decode."""
    if not isinstance(source, FolderImages):
        return
    reasons: list[str] = []
    for number in range(len(source.files)):
        try_read(path := source.path(number), reasons, open_image, path)
    if reasons:
        rule = f"every file that is measured, in {source.root}, must be an image that can be read"
        remedy = "restore them, or remove them before a run begins"
        refuse("folder", rule, f"{len(reasons)} that cannot: {format_list(reasons)}", remedy)


def read_imagenet(name: str, options: ReadOptions) -> ImageData:
    """Read "imagenet" or "imagenette" from its folder in `data_root`; see `open_folder`.

    Labels are indices of the sorted WordNet numbers, as torchvision's are.
    """
    root, num = data_root(options.data_dir).absolute() / name, DATASETS[name].num_classes["fine"]
    remedy = DATASETS[name].how_to_get.format(path=root)
    for path in (root / "train", root / "val"):
        if not path.is_dir():
            refuse("data", f"{path} must be a folder", "no such folder", remedy)
        names = list_subfolders(path)
        strange = [name for name in names if not re.fullmatch(r"n[0-9]{8}", name)]
        if strange or len(names) != num:
            rule = f"{path} must hold {num} folders named n and eight digits"
            got = f"{len(names)} folders" + (f", {strange[0]} among them" if strange else "")
            refuse("data", rule, got, remedy)
    return open_folder(root, options.size, options.resize, options.unreadable)
