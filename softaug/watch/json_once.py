"""JSON files that are read again only when they have changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class JsonOnce(Generic[T]):
    """What `pick` takes from a JSON file, of which nothing else is kept.

    `read` gives None where there is no file, and also, with the reason in `problem`, where it
    is no JSON or `pick` refuses it.
    """

    def __init__(self, path: Path, pick: Callable[[Any], T]) -> None:
        self.path, self._pick = path, pick
        self.version = ""  # another one when the file has changed; empty without a file
        self.problem = ""
        self._value: T | None = None

    def read(self) -> T | None:
        """The value by now."""
        version = _version(self.path)
        if version != self.version:
            self.version = version  # of before reading: a change meanwhile is seen next time
            self._value, self.problem = self._load() if version else (None, "")
        return self._value

    def _load(self) -> tuple[T | None, str]:
        try:
            return self._pick(json.loads(self.path.read_bytes())), ""
        except KeyError as missing:
            return None, f"{self._short()} has no {missing}"
        except (
            OSError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            RecursionError,
        ) as broken:
            return None, f"{self._short()} cannot be read: {broken}"

    def _short(self) -> str:
        return "/".join(self.path.parts[-2:])


def _version(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
