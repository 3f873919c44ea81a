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
from dataclasses import dataclass
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
        self._names: list[Name] = []  # made, and not yet on the disk

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
        if self.how == "power" and self.at is not None:
            self._cut_power()

    def install(self) -> None:
        """Stand before the system's calls until the process ends."""
        self._installed = self.installed()  # as long as the layer holds it, it stays
        self._installed.__enter__()

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
        for name in reversed(self._names):
            name.undo(self)
        for path, synced in self._unsynced.items():
            if path.is_file():
                content = path.read_bytes()
                path.write_bytes(content[: (synced + len(content)) // 2])

    def _open(self, file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(file, int) or not set(mode) & set("wxa"):
            return self._real["open"](file, mode, *rest, **named)
        self._call("open")
        path = Path(os.fsdecode(file))
        if not path.exists():
            self._names.append(Name(path))
        return _File(self._real["open"](file, mode, *rest, **named), path, self)

    def _fsync(self, number: int) -> None:
        self._call("fsync")
        path = Path(os.readlink(f"/proc/self/fd/{number}"))
        if stat.S_ISDIR(os.fstat(number).st_mode):
            self._names = [name for name in self._names if name.path.parent != path]
        self._unsynced.pop(path, None)

    def _mkdir(self, path: Any, *rest: Any, **named: Any) -> None:
        self._call("mkdir")
        self._real["mkdir"](path, *rest, **named)
        self._names.append(Name(Path(path)))

    def _rename(self, source: Any, target: Any) -> None:
        self._move("rename", Path(source), Path(target))

    def _replace(self, source: Any, target: Any) -> None:
        self._move("replace", Path(source), Path(target))

    def _move(self, name: str, source: Path, target: Path) -> None:
        self._call(name)
        before = target.read_bytes() if target.is_file() else None
        self._real[name](source, target)
        self._follow(source, target)
        self._names.append(Name(target, source, before))

    def _follow(self, source: Path, target: Path) -> None:
        """Take up that a file or folder, and all in it, has another path now."""

        def follow(path: Path) -> Path:
            inside = path == source or source in path.parents
            return target / path.relative_to(source) if inside else path

        self._unsynced = {follow(path): synced for path, synced in self._unsynced.items()}
        for name in self._names:
            name.path = follow(name.path)

    def _unlink(self, path: Any, **named: Any) -> None:
        self._call("unlink")
        self._real["unlink"](path, **named)

    def _rmdir(self, path: Any, **named: Any) -> None:
        self._call("rmdir")
        self._real["rmdir"](path, **named)


@dataclass
class Name:
    """A name in a folder that was not synced since: a power cut undoes it."""

    path: Path
    source: Path | None = None
    """what it was called before"""
    before: bytes | None = None
    """the file that had the name before"""

    def undo(self, layer: FileLayer) -> None:
        """Have the name lead where it led before."""
        if not self.path.exists():
            return
        if self.source is not None:
            path = self.path
            os.rename(path, self.source)
            layer._follow(path, self.source)
            if self.before is not None:
                path.write_bytes(self.before)
        elif self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink()


class _File:
    """A file open for writing, whose writes the layer counts."""

    def __init__(self, file: Any, path: Path, layer: FileLayer) -> None:
        self._file, self._path, self._layer = file, path, layer

    def write(self, content: Any) -> int:
        self._layer._unsynced.setdefault(self._path, self._path.stat().st_size)

        def half() -> None:
            self._file.write(content[: len(content) // 2])
            self._file.flush()

        self._layer._call("write", half)
        self._file.write(content)
        self._file.flush()
        return len(content)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
