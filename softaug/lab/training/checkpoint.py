"""Checkpoints that survive anything: whole or absent, checked, without executable content.

    checkpoints/step-00000391/
        model.safetensors, optimizer.safetensors, ...   the tensors of a state dict, by its keys
        state.json                                      everything else in it
        manifest.json                                   sha256 of the others

A folder is written under another name, synced to the disk and renamed; the last two stay.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
from pydantic_core import from_json
from safetensors import SafetensorError
from torch import Tensor

from softaug.lab.io import make_folder, read_regular, remove_path, sync_folder

CHECKPOINTS = "checkpoints"
MAX_CHECKPOINTS = 2
MANIFEST = "manifest.json"
STATE = "state.json"
TENSORS = ".safetensors"
MODEL = f"model{TENSORS}"
SEPARATOR = "/"  # between the keys of nested dicts, in names of tensors
STEP = re.compile(r"step-[0-9]{8,18}")

Tensors = dict[str, dict[str, Tensor]]  # by file, by name


class Checkpoint(NamedTuple):
    """A state dict and where it was read."""

    path: Path
    state: dict[str, Any]
    sha256: dict[str, str]  # of its files, by name


class DamagedError(Exception):
    """A checkpoint is not what was written."""


def save(folder: Path, step: int, state: Mapping[str, Any]) -> Path:
    """Write a checkpoint and drop all but the last two; a full disk leaves the old ones whole."""
    tensors, plain = split_tensors(state)
    files = {f"{name}{TENSORS}": _pack(part) for name, part in tensors.items()}
    files[STATE] = _to_json(plain)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[MANIFEST] = _to_json(hashes)
    final, unfinished = folder / f"step-{step:08d}", folder / f".writing-{step:08d}"
    try:
        remove_path(unfinished)
        make_folder(unfinished)
        for name, content in files.items():
            _write(unfinished / name, content)
        sync_folder(unfinished)
        unfinished.rename(final)
        sync_folder(folder)
        _prune(folder)
    except OSError as failed:
        shutil.rmtree(unfinished, ignore_errors=True)
        reason = "the disk is full" if failed.errno == errno.ENOSPC else failed.strerror
        raise OSError(
            failed.errno,
            f"checkpoint: could not write to {folder}: {reason}; earlier checkpoints are whole: "
            "make room and run the same command to go on",
        ) from failed
    return final


def split_tensors(state: Mapping[str, Any]) -> tuple[Tensors, dict[str, Any]]:
    """Split a state dict into the tensors of each of its dicts, and all else.

    >>> import torch
    >>> tensors, plain = split_tensors({"step": 3, "task": {"loss": {"rows": torch.ones(2)}}})
    >>> tensors, plain
    ({'task': {'loss/rows': tensor([1., 1.])}}, {'step': 3, 'task': {'loss': {}}})
    """
    tensors: Tensors = {}

    def remove_tensors(value: Any, *keys: str) -> Any:
        if not isinstance(value, Mapping):
            return value
        plain = {}
        for key, inner in value.items():
            if isinstance(inner, Tensor):
                name, *path = (*keys, str(key))
                tensors.setdefault(name, {})[SEPARATOR.join(path)] = inner
            else:
                plain[str(key)] = remove_tensors(inner, *keys, str(key))
        return plain

    return tensors, remove_tensors(state)


def join_tensors(tensors: Tensors, plain: dict[str, Any]) -> dict[str, Any]:
    """Put a state dict together again; its keys are all text now."""
    for name, part in tensors.items():
        for path, tensor in part.items():
            *keys, last = path.split(SEPARATOR)
            table = plain.setdefault(name, {})
            for key in keys:
                table = table.setdefault(key, {})
            table[last] = tensor
    return plain


def newest(folder: Path, report: Callable[[str], None] = print) -> Checkpoint | None:
    """Read the newest checkpoint that is whole; damaged ones are reported and set aside.

    None where no checkpoint was ever finished. Call it only while no other process writes.
    """
    for unfinished in folder.glob(".writing-*"):
        remove_path(unfinished)
    damaged: dict[Path, str] = {}
    for path in reversed(steps(folder)):
        try:
            whole = load(path)
        except DamagedError as error:
            damaged[path] = str(error)
            continue
        for bad, reason in damaged.items():
            aside = bad.with_name(f"damaged-{bad.name}")  # a name that is never loaded
            remove_path(aside)
            bad.rename(aside)
            report(f"checkpoint {bad.name} is damaged ({reason}); set aside as {aside.name}")
        _prune(folder)  # a kill may have come before it was done
        return whole
    if damaged:
        raise ValueError(
            f"train: a checkpoint in {folder} must be whole, got {len(damaged)} damaged; "
            "delete the run's folder to begin again"
        )
    return None


def newest_whole(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """Read the newest checkpoint that is whole, and what is wrong with later ones; change none."""
    damages: list[str] = []
    for path in reversed(steps(folder)):
        try:
            return load(path), damages
        except DamagedError as error:
            damages.append(f"{path.name}: {error}")
    return None, damages


def load(path: Path) -> Checkpoint:
    """Read a checkpoint, every byte checked."""
    hashes = _parse(_read(path / MANIFEST), MANIFEST)
    for name in (STATE, MODEL):
        if name not in hashes:
            raise DamagedError(f"{MANIFEST} does not list {name}")
    names = {*hashes} - {STATE}
    if any(not name.endswith(TENSORS) or Path(name).name != name for name in names):
        raise DamagedError(f"{MANIFEST} lists what is no file of a checkpoint")
    if unlisted := {file.name for file in path.glob(f"*{TENSORS}")} - names:
        raise DamagedError(f"{MANIFEST} does not list {min(unlisted)}")
    files = {name: _read(path / name) for name in hashes}
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != hashes[name]:
            raise DamagedError(f"{name} differs from its sha256")
    plain = _parse(files[STATE], STATE)
    try:
        tensors = {
            name.removesuffix(TENSORS): safetensors.torch.load(files[name]) for name in names
        }
        return Checkpoint(path, join_tensors(tensors, plain), hashes)
    except (SafetensorError, AttributeError, TypeError) as error:  # a hash of its own making
        raise DamagedError(f"its tensors do not fit: {error}") from error


def steps(folder: Path) -> list[Path]:
    """List the finished checkpoints, oldest first."""
    paths = (path for path in folder.glob("step-*") if STEP.fullmatch(path.name))
    return sorted(paths, key=lambda path: int(path.name.removeprefix("step-")))


def _prune(folder: Path) -> None:
    for old in steps(folder)[:-MAX_CHECKPOINTS]:
        remove_path(old)


def _pack(tensors: Mapping[str, Tensor]) -> bytes:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(plain)


def _to_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as failed:
        raise DamagedError(f"{path.name}: {failed.strerror}") from failed


def _parse(content: bytes, name: str) -> dict[str, Any]:
    try:
        table = from_json(content)
    except ValueError as failed:
        raise DamagedError(f"{name} is not JSON") from failed
    if not isinstance(table, dict):
        raise DamagedError(f"{name} is not a table")
    return table
