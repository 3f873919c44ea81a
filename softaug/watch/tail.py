"""A metrics.jsonl that grows: only what was added is read."""

import json
import os
from pathlib import Path
from typing import Any, BinaryIO


class Tail:
    """The JSON objects of a file of lines, kept up with as it grows.

    A last line without an end is left for later; a line that is no object is left out. `life`
    counts beginnings: a file that was replaced, cut or removed is read from its start again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.life = 0
        self.rows: list[dict[str, Any]] = []
        self.wrote: float | None = None  # when, in seconds since 1970
        self._seen: tuple[int, int, int] | None = None  # inode, size and time
        self._offset = 0
        self._last = b""  # the last line that was read: it must still be there

    def update(self) -> None:
        """Read what was added since the last time."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                seen = found.st_ino, found.st_size, found.st_mtime_ns
                if seen != self._seen:
                    self._follow(file, found.st_ino)
                self._seen, self.wrote = seen, found.st_mtime
        except OSError:
            if self._seen is not None:
                self._begin_again()

    def _begin_again(self) -> None:
        self.life += 1
        self.rows, self.wrote, self._seen = [], None, None
        self._offset, self._last = 0, b""

    def _follow(self, file: BinaryIO, inode: int) -> None:
        if self._seen is not None and not self._goes_on(file, inode):
            self._begin_again()
        file.seek(self._offset)
        whole, newline, _ = file.read().rpartition(b"\n")
        if newline:
            self._offset += len(whole) + 1
            lines = whole.split(b"\n")
            self._last = lines[-1] + b"\n"
            self.rows += [row for row in map(_parsed, lines) if row is not None]

    def _goes_on(self, file: BinaryIO, inode: int) -> bool:
        """Whether the file is the one that was read, with something added at most."""
        if self._seen is None or inode != self._seen[0]:
            return False
        file.seek(self._offset - len(self._last))
        return file.read(len(self._last)) == self._last


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
