"""Extra test sets with the same classes, sets of other classes, and labels by people."""

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.npyio import NpzFile
from torch import Tensor
from torch.nn.functional import interpolate

from softaug.checks import check_whole, nearest, refuse
from softaug.lab.data.datasets import FOLDER
from softaug.lab.data.folder import FolderImages, open_folder
from softaug.lab.data.images import Images, Source, load

WHO = "evaluate"


def from_folder(
    path: str, class_names: tuple[str, ...], size: int, resize: int | None
) -> FolderImages:
    """Open the images of a folder; its classes are the run's, by their names or numbers."""
    data = open_folder(path, size, resize)
    source = data.test or data.train
    assert isinstance(source, FolderImages)
    numbers = torch.tensor(_class_numbers(path, data.class_names, class_names))
    return replace(source, labels=numbers[source.labels])


def resize_test_set(test: Source, edges: Sequence[int], sets: dict[str, Source]) -> None:
    """Add the test images once more for each short edge in `edges`, as sets called resize-EDGE."""
    for edge in edges:
        if not isinstance(test, FolderImages):
            refuse(WHO, "resize is for images in folders", f"{edge} for images of one size")
        check_whole(WHO, "resize", edge, least=test.size)
        _add(sets, f"resize-{edge}", replace(test, resize=edge))


def _add(sets: dict[str, Source], name: str, source: Source) -> None:
    if name in sets:
        refuse(WHO, "extra test sets must have different names", f"{name} twice")
    sets[name] = source


def _class_numbers(path: str, names: tuple[str, ...], class_names: tuple[str, ...]) -> list[int]:
    """Return the run's number of each class: by name, or as in ImageNet-V2, the name itself.

    >>> _class_numbers("v2", ("0", "1", "10", "2"), tuple("abcdefghijkl"))
    [0, 1, 10, 2]
    """
    if all(map(_is_number, names)) and not any(map(_is_number, class_names)):
        numbers, num = [int(name) for name in names], len(class_names)
        if max(numbers) >= num or len(set(numbers)) < len(numbers):
            rule = f"classes of {path} must be different numbers in 0..{num - 1} or the run's names"
            refuse(WHO, rule, ", ".join(names))
        return numbers
    for name in names:
        if name not in class_names:
            remedy = nearest(name, class_names)
            refuse(WHO, f"classes of {path} must be the run's", repr(name), remedy)
    return [class_names.index(name) for name in names]


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


SPLITS = ("test", "validation")  # names of what a run is measured on
FORMS = "NAME=FOLDER, NAME=FILE.npz (images, labels), or NAME=IMAGES.npy,LABELS.npy"


def read_test_sets(
    texts: Sequence[str], class_names: tuple[str, ...], size: int, resize: int | None = None
) -> dict[str, Source]:
    """Read every extra test set by its name; refuse a name that is there twice."""
    sets: dict[str, Source] = {}
    for text in texts:
        _add(sets, *read_test_set(text, class_names, size, resize))
    return sets


def read_test_set(
    text: str, class_names: tuple[str, ...], size: int, resize: int | None = None
) -> tuple[str, Source]:
    """Read `--extra-test-sets NAME=PATH`; its labels are those of `class_names`.

    A folder has a folder for each class, called by its name or by its number in the run;
    arrays hold uint8 images [N, H, W, 3] (or channels first) and class numbers [N]. `size` is
    the edge of the run's images: a folder's are brought to it, by way of the short edge
    `resize`, arrays must have it.
    """
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        refuse(WHO, f"extra_test_sets must be {FORMS}", repr(text))
    if name in SPLITS:
        refuse(WHO, f"the name of an extra test set must not be {name!r}", repr(text))
    if Path(path).is_dir():
        return name, from_folder(path, class_names, size, resize)
    images, labels = _arrays(path)
    return name, _from_arrays(path, images, labels, len(class_names), size)


# Images of other classes

_ALIKE = ({"fashion-mnist", "fashion-mini"}, {"imagenet", "imagenette"})


def read_ood_sets(
    names: Sequence[str], own: str, size: int, data_dir: Path | None
) -> dict[str, Source]:
    """Read the test images of data sets other than a run's `own`, brought to its size."""
    sets: dict[str, Source] = {}
    for name in names:
        if name == own or any({name, own} <= alike for alike in _ALIKE):
            rule = f"ood must be data sets of other classes than {own}"
            refuse(WHO, rule, name, "name another, such as --ood cifar100")
        data = load(name, data_dir, size=size)
        _add(sets, Path(name.removeprefix(FOLDER)).name, _resized(data.test or data.train, size))
    return sets


def _resized(source: Source, size: int) -> Source:
    """Bring images in memory to a size; those of files have it."""
    if not isinstance(source, Images) or source.images.shape[2:] == (size, size):
        return source
    options: dict[str, Any] = {"size": (size, size), "mode": "bilinear", "antialias": True}
    parts = source.images.split(1000)  # type: ignore[no-untyped-call]
    images = [interpolate(part.float(), **options).round().to(torch.uint8) for part in parts]
    return Images(torch.cat(images), source.labels)


# Labels by people


def read_human_labels(path: Path, shape: tuple[int, int]) -> Tensor:
    """Read probabilities [N, C] of each class for each of the test images, float64."""
    try:
        array = _load(str(path), np.ndarray)
    except (OSError, ValueError, EOFError) as broken:
        refuse(WHO, "human_labels must be an .npy file of numbers", f"{path} ({broken})")
    rule = f"human_labels must be probabilities [{shape[0]}, {shape[1]}], one row for each image"
    if array.shape != shape or array.dtype.kind != "f":
        refuse(WHO, rule, f"{array.dtype} {list(array.shape)}")
    probs = torch.from_numpy(array.astype(np.float64))
    sums = probs.sum(1)
    if not bool((probs >= 0).all()) or not bool(((sums - 1).abs() < 1e-3).all()):
        got = f"from {float(probs.min()):g}, rows that sum to {float(sums.min()):g} and more"
        refuse(WHO, f"{rule}, >= 0 and with sum 1", got)
    return probs / sums[:, None]


# Arrays


def _arrays(path: str) -> tuple[Any, Any]:
    files = path.split(",")
    try:
        if len(files) == 2:
            return _load(files[0], np.ndarray), _load(files[1], np.ndarray)
        with _load(path, NpzFile) as packed:
            return packed["images"], packed["labels"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as broken:
        refuse(WHO, f"extra_test_sets must be {FORMS}", f"{path} ({broken})")


def _load(file: str, kind: type) -> Any:
    loaded = np.load(file, allow_pickle=False)
    if not isinstance(loaded, kind):
        raise ValueError(f"{type(loaded).__name__}, not {kind.__name__}")
    return loaded


def _from_arrays(path: str, images: Any, labels: Any, num_classes: int, size: int) -> Source:
    if images.ndim == 4 and images.shape[3] == 3:
        images = images.transpose(0, 3, 1, 2)
    if images.ndim != 4 or images.shape[1] != 3 or images.dtype != np.uint8 or not len(images):
        rule = f"images of {path} must be uint8 [N, H, W, 3]"
        refuse(WHO, rule, f"{images.dtype} {list(images.shape)}")
    if images.shape[2:] != (size, size):
        rule = f"images of {path} must be {size} x {size} pixels as the run's"
        refuse(WHO, rule, f"{images.shape[2]} x {images.shape[3]}")
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        rule = f"labels of {path} must be {len(images)} whole numbers"
        refuse(WHO, rule, f"{labels.dtype} {list(labels.shape)}")
    numbers: Tensor = torch.from_numpy(labels.astype(np.int64))
    if int(numbers.min()) < 0 or int(numbers.max()) >= num_classes:
        rule = f"labels of {path} must be in 0..{num_classes - 1}"
        refuse(WHO, rule, f"{int(numbers.min())}..{int(numbers.max())}")
    return Images(torch.from_numpy(np.ascontiguousarray(images)), numbers)
