"""Second test sets in folders: classes by name or number, and the test images resized otherwise."""

from collections.abc import Container, Sequence
from dataclasses import replace

import torch

from softaug.checks import check_whole, nearest, refuse
from softaug.data.folder import FolderImages, folder
from softaug.data.images import Source

WHO = "evaluate"


def from_folder(
    path: str, class_names: tuple[str, ...], size: int, resize: int | None
) -> FolderImages:
    """The images of a folder; its classes are the run's, by their names or by their numbers."""
    data = folder(path, size, resize)
    source = data.test or data.train
    assert isinstance(source, FolderImages)
    places = torch.tensor(_places(path, data.class_names, class_names))
    return replace(source, labels=places[source.labels])


def resized(test: Source, edges: Sequence[int], taken: Container[str]) -> dict[str, Source]:
    """The test images once more for each short edge in `edges`, as sets called resize-EDGE."""
    found: dict[str, Source] = {}
    for edge in edges:
        name = f"resize-{edge}"
        if not isinstance(test, FolderImages):
            refuse(WHO, "resize is for images in folders", f"{edge} for images of one size")
        check_whole(WHO, "resize", edge, least=test.size)
        if name in found or name in taken:
            refuse(WHO, "second test sets must have different names", f"{name} twice")
        found[name] = replace(test, resize=edge)
    return found


def _places(path: str, names: tuple[str, ...], class_names: tuple[str, ...]) -> list[int]:
    """The run's number of each class: by name, or as ImageNet-V2 has it, the name is the number.

    >>> _places("v2", ("0", "1", "10", "2"), tuple("abcdefghijkl"))
    [0, 1, 10, 2]
    """
    if all(map(_is_number, names)) and not any(map(_is_number, class_names)):
        return _numbers(path, names, len(class_names))
    for name in names:
        if name not in class_names:
            remedy = nearest(name, class_names)
            refuse(WHO, f"classes of {path} must be the run's", repr(name), remedy)
    return [class_names.index(name) for name in names]


def _numbers(path: str, names: tuple[str, ...], num_classes: int) -> list[int]:
    numbers = [int(name) for name in names]
    for name, number in zip(names, numbers, strict=True):
        if number >= num_classes:
            rule = f"classes of {path} must be numbers in 0..{num_classes - 1} (or the run's names)"
            refuse(WHO, rule, name)
        if numbers.count(number) > 1:
            refuse(WHO, f"classes of {path} must be different numbers", f"{number} twice")
    return numbers


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
