"""Putting a data set in place: whole and right, or not at all."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from softaug.checks import refuse
from softaug.data.check import findings
from softaug.data.releases import AnyRelease

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def alone(home: Path, release: AnyRelease, console: Console) -> Iterator[None]:
    """No other process gets the same set into `home` meanwhile; it waits for one that does."""
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / f".{release.folder}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        console.print(f"another process is getting {release.folder}: waiting", soft_wrap=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def installing(home: Path, release: AnyRelease) -> Iterator[Path]:
    """Yield a new folder to fill; it gets its place in `home` if every file is official.

    To be used with `alone`. Whatever fails, no unfinished folder is left.
    """
    unfinished = home / f".{release.folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
    try:
        unfinished.mkdir()
        yield unfinished
        _check_all(unfinished, release)
        unfinished.rename(home / release.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def telling_of_a_full_disk(home: Path) -> Iterator[None]:
    """A full disk is told with the folder that it holds."""
    try:
        yield
    except OSError as failed:
        if failed.errno not in FULL:
            raise
        text = f"data: no space is left for {home}; free 400 MB and try again, or name another"
        raise OSError(failed.errno, f"{text} folder by data_dir or SOFTAUG_DATA") from failed


def _check_all(folder: Path, release: AnyRelease) -> None:
    wrong = [f"{found.file}: {found.text}" for found in findings(folder, release) if not found.good]
    if wrong:
        rule = f"files for {release.folder} must be those of the official release"
        refuse("data", rule, "; ".join(wrong), "nothing was put in place")
