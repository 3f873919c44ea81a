"""Writing: results to files, and nothing where a library writes too much."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write_json(results: Mapping[str, Any], path: Path, indent: int | None = None) -> Path:
    """Write `results` as JSON: whoever reads `path` finds a whole file."""
    return write_text(json.dumps(results, allow_nan=False, indent=indent) + "\n", path)


def write_text(text: str, path: Path) -> Path:
    """Write as UTF-8: whoever reads `path` finds a whole file."""
    return write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: Path) -> Path:
    """Write beside `path`, sync to the disk, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as failed:  # a full disk does not say whose
        unfinished.unlink(missing_ok=True)
        raise OSError(failed.errno, failed.strerror, str(path)) from failed
    return unfinished.replace(path)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Nothing reaches standard error inside, not even from C++; Python's errors still rise."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
