"""Official releases: download with resume, check every file, put all of them in place at once."""

import errno
import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from filelock import FileLock, Timeout
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.datasets import data_root
from softaug.lab.progress import progress

CHUNK = 1 << 18
TIMEOUT = 30  # seconds without a byte
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
NOT_OFFICIAL = "sha256 is not the official one"


class FileCheck(NamedTuple):
    """The result of checking one file."""

    file: str
    error: str  # empty if the file is the official one
    content: str  # what it holds


class Package(NamedTuple):
    """A Debian package that holds the official files."""

    name: str
    folder: Path  # where it puts them

    @property
    def command(self) -> str:
        return f"`apt-get install {self.name}` on Debian"


@dataclass(frozen=True, kw_only=True)
class Release(ABC):
    """The official files of a data set."""

    name: str  # of the data set
    folder: str  # its folder in `data_root`
    url: str
    package: Package | None = None

    @abstractmethod
    def check_files(self, folder: Path) -> Iterator[FileCheck]:
        """Check each file that the release must have."""

    @abstractmethod
    def fetch(self, root: Path, console: Console) -> None:
        """Download the files into their folder in `root`."""

    def locate(self, data_dir: Path | str | None = None) -> Path:
        """Return the folder where the files are, or would be downloaded to."""
        return data_root(data_dir) / self.folder

    def how_to_get(self, data_dir: Path | str | None) -> str:
        """Say what to do about files that are missing or bad."""
        option = f" --data-dir {data_root(data_dir)}" if data_dir else ""
        package = f", as does {self.package.command}" if self.package else ""
        return (
            f"`softaug data {self.name}{option}` gets it{package}; if you have it, name the "
            f"folder that holds {self.folder} by data_dir or SOFTAUG_DATA"
        )


def get_release(release: Release, data_dir: Path | str | None, console: Console) -> None:
    """Check the files of a release, or download them if there are none.

    Nothing is ever overwritten: a folder with a wrong file is refused, not replaced.
    """
    root = data_root(data_dir)
    if not release.locate(root).exists():
        with explain_full_disk(root), lock_release(root, release, console):
            if not (root / release.folder).exists():  # else another process has just got it
                release.fetch(root, console)
    print_checks(release, root, console)


def print_checks(release: Release, root: Path, console: Console) -> None:
    """Print one line for each file; refuse the release if one is not the official one."""
    folder, num_wrong = release.locate(root), 0
    for file, error, content in release.check_files(folder):
        line = f"WRONG: {file}, {error}" if error else f"ok: {file}, {content}"
        console.print(line, soft_wrap=True, markup=False, highlight=False)
        num_wrong += bool(error)
    if num_wrong:
        remedy = "move it away, then run this again to get it"
        refuse("data", f"{folder} must hold the official files", f"{num_wrong} wrong", remedy)
    console.print(f"{release.name} is in {folder}", soft_wrap=True, markup=False, highlight=False)


@contextmanager
def explain_full_disk(root: Path) -> Iterator[None]:
    """Name the folder and the remedy when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        text = f"data: no space is left for {root}; free 400 MB and try again, or name another"
        raise OSError(error.errno, f"{text} folder by data_dir or SOFTAUG_DATA") from error


@contextmanager
def lock_release(root: Path, release: Release, console: Console) -> Iterator[None]:
    """Keep other processes from getting the same release; wait for one that does."""
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root / f".{release.folder}.lock")
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
def install(root: Path, release: Release) -> Iterator[Path]:
    """Yield a temporary folder to fill; move it into `root` if every file is official.

    Use it within `lock_release`. Whatever fails, no unfinished folder is left.
    """
    unfinished = root / f".{release.folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
    try:
        unfinished.mkdir()
        yield unfinished
        wrong = [f"{file}: {error}" for file, error, _ in release.check_files(unfinished) if error]
        if wrong:
            rule = f"files for {release.folder} must be those of the official release"
            refuse("data", rule, "; ".join(wrong), "nothing was put in place")
        unfinished.rename(root / release.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def download_checked(
    url: str, part: Path, check: Callable[[Path, str], None], console: Console, by_hand: str
) -> None:
    """Complete the file `part`; delete it if `check(part, remedy)` refuses it.

    `by_hand` says what the user can do if the network fails.
    """
    download(url, part, console, f"running this again goes on from there; or {by_hand}")
    try:
        check(part, f"this bad download was deleted; try again, or {by_hand}")
    except ValueError:
        part.unlink()
        raise


def download(url: str, part: Path, console: Console, remedy: str) -> None:
    """Complete the file `part`, asking only for the bytes it lacks; all that came are kept."""
    have = part.stat().st_size if part.exists() else 0
    with _refuse_network_errors(url, remedy):
        response = _request(url, have)
    if response is None:
        return
    with response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:  # the server sends all of it again
            have = 0
        with part.open("ab" if have else "wb") as file:
            for chunk in _read_chunks(response, url, have, console, remedy):
                file.write(chunk)


def _request(url: str, have: int) -> Any:
    """Return the server's response; None if it has nothing beyond the `have` bytes."""
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if have and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        raise


def _read_chunks(
    response: Any, url: str, have: int, console: Console, remedy: str
) -> Iterator[bytes]:
    """Yield what the server sends, to its last byte, with progress."""
    with _refuse_network_errors(url, remedy):
        length = int(response.headers["Content-Length"] or 0)
    done, name = 0, url.rsplit("/", 1)[-1]
    with progress(console, length // 1000, "kB") as show:
        while done < length:
            with _refuse_network_errors(url, remedy):
                chunk = response.read1(CHUNK)  # `read` may lose the last bytes that came
                if not chunk:
                    raise ConnectionError(f"the connection ended {length - done:,} bytes early")
            yield chunk
            done += len(chunk)
            percent = 10 * int(10 * (have + done) / (have + length))
            show(done // 1000, f"{name}: {percent} % of {(have + length) / 1e6:.0f} MB")


@contextmanager
def _refuse_network_errors(url: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as error:
        refuse("data", f"{url} must be reachable", error, remedy)


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
