"""The state of a folder as bytes: many pages may ask, the folder is seldom read."""

import hashlib
import json
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from softaug.watch.folder import Wanted, WatchedFolder

SECONDS = 1.0  # between two looks at least
SHARE = 10  # and so many times as long as a look takes: 300 runs on a slow disk


class Answer(NamedTuple):
    """Bytes and a tag that changes with them."""

    content: bytes
    tag: str


class Glance:
    """What pages ask of a folder, one at a time."""

    def __init__(self, folder: WatchedFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._state = Answer(b"", "")
        self._next = 0.0

    def state(self) -> Answer:
        """The folder's state, at most a look's time old."""
        with self._lock:
            begun = time.monotonic()
            if begun >= self._next:
                self._state = as_json(self._folder.look())
                end = time.monotonic()
                self._next = end + max(SECONDS, SHARE * (end - begun))
            return self._state

    def curves(self, wanted: Iterable[Wanted]) -> Answer:
        """What is new of some curves, as of the last look."""
        with self._lock:
            return as_json({"curves": self._folder.curves(wanted)})

    def exhibit(self, name: str) -> Answer | None:
        """A table so far."""
        with self._lock:
            found = self._folder.exhibits.shown(name)
        return None if found is None else as_json(found)

    def exhibit_page(self, name: str) -> Answer | None:
        """A table's own page."""
        found = self._folder.exhibits.page(name)
        return None if found is None else answer(found)


def as_json(value: Any) -> Answer:
    """A value for a browser, whose JSON has finite numbers only."""
    return answer(json.dumps(value, allow_nan=False, separators=(",", ":")).encode())


def answer(content: bytes) -> Answer:
    """Bytes with their tag."""
    return Answer(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
