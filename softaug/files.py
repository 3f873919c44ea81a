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
    """Write beside `path`, sync to the disk, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
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
