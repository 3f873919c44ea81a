"""Writing results."""

import json
import os
from collections.abc import Mapping
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
