"""The data sets by name: where each comes from, its license, and the reader that opens it.

Importing this file loads no torch, so that recipes can check names quickly. A new data set is one
entry here and a file with its reader, `read(name, options) -> ImageData`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from softaug.checks import check_choice

if TYPE_CHECKING:
    from softaug.lab.data.download import Release

FOLDER = "folder:"


class ReadOptions(NamedTuple):
    """How a data set is read; a reader uses the options that apply to it."""

    data_dir: Path | str | None = None  # see `data_root`
    labels: str = "fine"  # of CIFAR-100 also "coarse"
    size: int = 224  # edge of images that are read from files
    resize: int | None = None  # short edge before the center is kept; None is `size`
    unreadable: str = "refuse"  # or "skip": what happens to a window whose file is broken
    test_share: float = 0.0  # of each class, held out by `seed`, where a folder has no test split
    seed: int = 0


@dataclass(frozen=True)
class Dataset:
    """The description of a data set that has not been read."""

    reader: str  # "module.function" in softaug.lab.data
    citation: str
    license: str
    num_classes: dict[str, int] = field(default_factory=dict)  # kind of label -> classes
    storage: Literal["memory", "files"] = "memory"  # files are decoded when they are needed
    how_to_get: str = ""  # of one that cannot be downloaded; {path} is where it must lie


DATASETS = {
    "cifar10": Dataset(
        reader="cifar.read_cifar",
        num_classes={"fine": 10},
        citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
        license="not stated; free for research",
    ),
    "cifar100": Dataset(
        reader="cifar.read_cifar",
        num_classes={"fine": 100, "coarse": 20},
        citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
        license="not stated; free for research",
    ),
    "fashion-mnist": Dataset(
        reader="fashion_mnist.read_fashion_mnist",
        num_classes={"fine": 10},
        citation="Xiao, Rasul and Vollgraf, arXiv:1708.07747, 2017",
        license="MIT, Zalando SE",
    ),
    "fashion-mini": Dataset(
        reader="fashion_mnist.read_fashion_mini",
        num_classes={"fine": 10},
        citation="4,000 images of Xiao, Rasul and Vollgraf, arXiv:1708.07747, 2017",
        license="MIT, Zalando SE; part of softaug",
    ),
    "imagenet": Dataset(
        reader="folder.read_imagenet",
        storage="files",
        num_classes={"fine": 1000},
        how_to_get="it cannot be downloaded for you: register at https://image-net.org/download, "
        "get ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz, "
        "unpack them with torchvision.datasets.ImageNet(ROOT, split) for the splits train and "
        "val (it needs scipy), then `ln -s ROOT {path}`",
        citation="Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, 2015",
        license="for non-commercial research and education, see image-net.org",
    ),
    "imagenette": Dataset(
        reader="folder.read_imagenet",
        storage="files",
        num_classes={"fine": 10},
        how_to_get="get https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-320.tgz (or "
        "another size), unpack it, then `ln -s UNPACKED {path}`",
        citation="Howard, https://github.com/fastai/imagenette, 2019",
        license="as ImageNet's",
    ),
    "digits": Dataset(
        reader="digits.read_digits",
        num_classes={"fine": 10},
        citation="Alpaydin and Kaynak, UCI handwritten digits, 1998, from scikit-learn",
        license="CC BY 4.0; part of scikit-learn",
    ),
    f"{FOLDER}PATH": Dataset(
        reader="folder.read_folder",
        storage="files",
        citation="your own images",
        license="your own",
    ),
}


def find_dataset(who: str, name: str) -> Dataset:
    """Return the entry of a data set; refuse an unknown name with the nearest."""
    if str(name).startswith(FOLDER) and name != FOLDER:
        return DATASETS[f"{FOLDER}PATH"]
    check_choice(who, "name", name, tuple(DATASETS))
    return DATASETS[name]


def is_files(name: str) -> bool:
    """Whether the images are files of any size, decoded when they are needed."""
    return find_dataset("data", name).storage == "files"


def find_release(name: str) -> "Release | None":
    """Return the official files of a data set that is downloaded: its reader's module has it."""
    module = find_dataset("data", name).reader.partition(".")[0]
    release: Release | None = import_object(f"{module}.RELEASES", {}).get(name)
    return release


def import_object(path: str, *default: Any) -> Any:
    """Import "module.name" of softaug.lab.data."""
    module, _, name = path.partition(".")
    return getattr(import_module(f"softaug.lab.data.{module}"), name, *default)


def data_root(data_dir: Path | str | None = None) -> Path:
    """Return `data_dir`; else what `SOFTAUG_DATA` names; else softaug/data in the user's cache.

    >>> data_root("data").as_posix()
    'data'
    """
    chosen = data_dir or os.environ.get("SOFTAUG_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "softaug" / "data"


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


def name_classes(names: Sequence[str]) -> list[str]:
    """Replace known WordNet numbers by the words for them; other names stay as they are.

    `names` are sorted, as those of a folder are.

    >>> name_classes(["cat", "n03445777"])
    ['cat', 'golf ball']
    """
    if len(names) == 1000 and set(names) >= IMAGENETTE.keys():
        from torchvision.models import ResNet50_Weights

        return list(ResNet50_Weights.IMAGENET1K_V2.meta["categories"])  # in the same order
    return [IMAGENETTE.get(name, name) for name in names]
