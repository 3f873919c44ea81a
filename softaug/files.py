"""Writing results."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(results: Mapping[str, Any], path: Path, indent: int | None = None) -> Path:
    """Write beside `path`, then rename: whoever reads `path` finds a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(results, allow_nan=False, indent=indent) + "\n")
    return unfinished.replace(path)
