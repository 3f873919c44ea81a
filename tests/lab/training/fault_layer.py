"""A file layer in which a chosen call fails, or is the last one before the process or power ends.

It stands before what saving calls: open for writing, write, fsync, mkdir, rename, replace, unlink,
rmdir. A power cut leaves of a file that was not synced a half, and of a name whose folder was not
synced what was there before; what was removed is gone.
"""

import contextlib
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from unittest import mock

How = Literal["fail", "stop", "power"]
HOWS: tuple[How, ...] = ("fail", "stop", "power")


class StoppedHereError(BaseException):
    """The process is at its end: no code of it runs any more."""


class FileLayer:
    """Counts calls; at call number `at` (from 0) it does `how`. With `at` None it only counts."""

    def __init__(self, at: int | None = None, how: How = "fail", error: int = 28) -> None:
        self.at, self.how, self.error = at, how, error
        self.calls: list[str] = []
        self._unsynced: dict[Path, int] = {}  # files not on the disk, and how much of each is
        self._undo: list[tuple[Path, Callable[[], None]]] = []  # by folder, of names in it

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Stand before the system's calls inside; a stop ends the block."""
        self._real = {name: getattr(os, name) for name in ("fsync", "mkdir", "rename", "unlink")}
        self._real |= {"rmdir": os.rmdir, "replace": os.replace, "open": io.open}
        with contextlib.ExitStack() as stack:
            for name in ("fsync", "mkdir", "rename", "replace", "unlink", "rmdir"):
                stack.enter_context(mock.patch.object(os, name, getattr(self, f"_{name}")))
            stack.enter_context(mock.patch.object(io, "open", self._open))
            with contextlib.suppress(StoppedHereError):
                yield
        if self.how == "power" and self.at is not None and len(self.calls) > self.at:
            self._cut_power()

    def _call(self, name: str, half: Callable[[], Any] = lambda: None) -> None:
        """Count a call; at the chosen one do `half` of it and end."""
        number = len(self.calls)
        self.calls.append(name)
        if self.at is None or number < self.at:
            return
        if number > self.at:
            if self.how == "fail":
                return  # one failure: what cleans up may work
            raise StoppedHereError
        half()
        if self.how == "fail":
            raise OSError(self.error, os.strerror(self.error))
        raise StoppedHereError

    def _cut_power(self) -> None:
        for _, undo in reversed(self._undo):
            with contextlib.suppress(FileNotFoundError):
                undo()
        for path, synced in self._unsynced.items():
            if path.is_file():
                content = path.read_bytes()
                path.write_bytes(content[: (synced + len(content)) // 2])

    def _open(self, file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if not set(mode) & set("wxa"):
            return self._real["open"](file, mode, *rest, **named)
        self._call("open")
        path = Path(file)
        if not path.exists():
            self._undo.append((path.parent, path.unlink))
        return _File(self._real["open"](file, mode, *rest, **named), path, self)

    def _fsync(self, number: int) -> None:
        self._call("fsync")
        path = Path(os.readlink(f"/proc/self/fd/{number}"))
        if stat.S_ISDIR(os.fstat(number).st_mode):
            self._undo = [one for one in self._undo if one[0] != path]
        self._unsynced.pop(path, None)

    def _mkdir(self, path: Any, *rest: Any, **named: Any) -> None:
        self._call("mkdir")
        self._real["mkdir"](path, *rest, **named)
        self._undo.append((Path(path).parent, lambda: shutil.rmtree(path)))

    def _rename(self, source: Any, target: Any) -> None:
        self._move("rename", Path(source), Path(target))

    def _replace(self, source: Any, target: Any) -> None:
        self._move("replace", Path(source), Path(target))

    def _move(self, name: str, source: Path, target: Path) -> None:
        self._call(name)
        before = target.read_bytes() if target.is_file() else None
        self._real[name](source, target)
        if source in self._unsynced:
            self._unsynced[target] = self._unsynced.pop(source)

        def undo() -> None:
            self._real["rename"](target, source)
            if before is not None:
                target.write_bytes(before)

        self._undo.append((target.parent, undo))

    def _unlink(self, path: Any, **named: Any) -> None:
        self._call("unlink")
        self._real["unlink"](path, **named)

    def _rmdir(self, path: Any, **named: Any) -> None:
        self._call("rmdir")
        self._real["rmdir"](path, **named)


class _File:
    """A file open for writing, whose writes the layer counts."""

    def __init__(self, file: Any, path: Path, layer: FileLayer) -> None:
        self._file, self._path, self._layer = file, path, layer

    def write(self, content: Any) -> None:
        self._layer._unsynced.setdefault(self._path, self._path.stat().st_size)

        def half() -> None:
            self._file.write(content[: len(content) // 2])
            self._file.flush()

        self._layer._call("write", half)
        self._file.write(content)
        self._file.flush()

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
