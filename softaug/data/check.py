"""Are the files of a release the official ones?"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from softaug.data.idx import open_idx, values
from softaug.data.releases import AnyRelease, IdxFile, IdxRelease, Release


class Finding(NamedTuple):
    """What was found out about one file."""

    file: str
    good: bool
    text: str


def findings(folder: Path, release: AnyRelease) -> Iterator[Finding]:
    """One for each file that the release must have."""
    if isinstance(release, IdxRelease):
        return _of_idx(folder, release)
    return _of_records(folder, release)


def _of_idx(folder: Path, release: IdxRelease) -> Iterator[Finding]:
    for file in release.files:
        path, what = file.path(folder), "labels" if file.holds_labels else "images"
        wrong = wrong_idx(path, file, len(release.class_names))
        yield Finding(path.name, not wrong, wrong or f"{file.shape[0]:,} {what}, sha256 official")


def wrong_idx(path: Path, file: IdxFile, num_classes: int) -> str:
    """What is wrong with a file of MNIST's format; nothing if its content is official."""
    if not path.is_file():
        return "missing"
    content, wrong = open_idx(path, file.shape)
    if wrong or hashlib.sha256(content).hexdigest() == file.sha256:
        return wrong
    wrong = "sha256 is not the official one"
    largest = int(values(content, file.shape).max())
    if file.holds_labels and largest >= num_classes:
        wrong += f", label {largest} is outside 0..{num_classes - 1}"
    return wrong


def _of_records(folder: Path, release: Release) -> Iterator[Finding]:
    for split, files in (("train", release.train), ("test", release.test)):
        for file, sha256 in files.items():
            size = release.images_in_file[split] * release.record
            wrong = _wrong_images(folder / file, size, sha256, release)
            right = f"{release.images_in_file[split]:,} images, sha256 official"
            yield Finding(file, not wrong, wrong or right)
    for kind, file in release.names.items():
        wrong = _wrong_names(folder / file, release.names_sha256[kind])
        right = f"{release.num_classes[kind]} class names, official"
        yield Finding(file, not wrong, wrong or right)


def _wrong_images(path: Path, size: int, sha256: str, release: Release) -> str:
    """What is wrong with a file of images; nothing if it is the official one."""
    if not path.is_file():
        return "missing"
    if path.stat().st_size != size:
        return f"{path.stat().st_size:,} bytes, should be {size:,}"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == sha256:
        return ""
    wrong = ["sha256 is not the official one"]
    for kind, byte in release.label_bytes.items():
        largest, most = max(content[byte :: release.record]), release.num_classes[kind] - 1
        if largest > most:
            wrong.append(f"{kind} label {largest} is outside 0..{most}")
    return ", ".join(wrong)


def _wrong_names(path: Path, sha256: str) -> str:
    if not path.is_file():
        return "missing"
    # Of the words alone: releases differ in how many line ends follow the last name.
    names = b"\n".join(path.read_bytes().split())
    return "" if hashlib.sha256(names).hexdigest() == sha256 else "class names differ"
