"""Writing: results to files, and nothing where a library writes too much."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from softaug.checks import refuse


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


def read_json(file: Path, who: str, remedy: str) -> Any:
    """What a UTF-8 JSON file with finite numbers holds; anything else is refused."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        refuse(who, "the result file must be readable", error.strerror, remedy)
    except UnicodeDecodeError as error:
        refuse(who, "the result file must be UTF-8 text", error.reason, remedy)
    try:
        return json.loads(text, parse_constant=_not_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        refuse(who, "the result file must be JSON with finite numbers", error, remedy)


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _not_finite(text)


def _not_finite(text: str) -> NoReturn:
    raise ValueError(f"{text} is no finite number")
