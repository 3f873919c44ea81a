"""ImageNet-1K and Imagenette as they are usually laid out: a folder for each WordNet number."""

import re
from pathlib import Path
from typing import NamedTuple

from softaug.checks import refuse
from softaug.data.folder import folder, subfolders
from softaug.data.images import ImageData
from softaug.data.place import data_folder

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
