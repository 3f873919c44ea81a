"""Reading and writing files: whole or not at all."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from softaug.checks import refuse


def write_json(content: Mapping[str, Any], path: Path, indent: int | None = None) -> Path:
    """Write a JSON file atomically; numbers that are not finite are an error."""
    return write_text(json.dumps(content, allow_nan=False, indent=indent) + "\n", path)


def write_text(text: str, path: Path) -> Path:
    """Write a UTF-8 file atomically."""
    return write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: Path) -> Path:
    """Write a file atomically: whoever reads `path`, even after a crash, finds a whole file.

    It is written beside `path`, synced to the disk and renamed; then the folder is synced.
    """
    make_folder(path.parent)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as failed:  # a full disk does not say whose
        unfinished.unlink(missing_ok=True)
        raise OSError(failed.errno, failed.strerror, str(path)) from failed
    unfinished.replace(path)
    sync_folder(path.parent)
    return path


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, and have the disk hold their names."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names in a folder; Windows cannot, and need not."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_path(path: Path) -> None:
    """Remove a folder, or the file or link of that name, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_regular(path: Path) -> bytes:
    """Read a regular file; anything else is an error: reading a FIFO could wait for ever."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()


def read_json(path: Path, who: str, remedy: str = "") -> Any:
    """Read a UTF-8 JSON file with finite numbers; what cannot be read is refused."""
    try:
        return from_json(read_regular(path).decode("utf-8"), allow_inf_nan=False)
    except OSError as error:
        refuse(who, "the file must be readable", error.strerror, remedy)
    except UnicodeDecodeError as error:
        refuse(who, "the file must be UTF-8 text", error.reason, remedy)
    except ValueError as error:
        refuse(who, "the file must be JSON with finite numbers", error, remedy)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Discard standard error inside, even that of C++; Python's errors still rise."""
    stderr, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(devnull)
