"""Official releases: download with resume, check every file, install all of them at once."""

import errno
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from filelock import FileLock
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

    path: Path
    error: str  # empty if the file is the official one
    holds: str  # such as "10,000 images"
    content: bytes = b""  # unpacked, if it could be read


def read_checked(checks: Iterable[FileCheck], remedy: str) -> dict[str, bytes]:
    """Return the content of files by name; warn of those that can be read but are not official."""
    contents = {}
    for path, error, holds, content in checks:
        if error == NOT_OFFICIAL:
            warnings.warn(f"data: {path} differs from the official release (sha256)", stacklevel=2)
        elif error:
            refuse("data", f"{path} must hold {holds}", error, remedy)
        contents[path.name.removesuffix(".gz")] = content
    return contents


@dataclass(frozen=True, kw_only=True)
class Release(ABC):
    """The official files of a data set."""

    name: str  # of the data set
    folder: str  # its folder in `data_root`
    url: str
    packaged: Path | None = None  # where the package that another command installs puts the files
    install_command: str = ""

    @abstractmethod
    def check_files(self, folder: Path) -> Iterator[FileCheck]:
        """Read and check each file that the release must have."""

    @abstractmethod
    def fetch(self, root: Path, console: Console) -> None:
        """Download the files into their folder in `root`."""

    def locate(self, data_dir: Path | str | None = None) -> Path:
        """Return the folder where the files are, or would be downloaded to."""
        return data_root(data_dir) / self.folder

    def how_to_get(self, data_dir: Path | str | None) -> str:
        """Say what to do about files that are missing or bad."""
        option = f" --data-dir {data_root(data_dir)}" if data_dir else ""
        package = f", as does {self.install_command}" if self.install_command else ""
        return (
            f"`softaug data {self.name}{option}` gets it{package}; if you have it, name the "
            f"folder that holds {self.folder} by data_dir or SOFTAUG_DATA"
        )


def get_release(
    release: Release,
    data_dir: Path | str | None,
    console: Console,
    fetch: Callable[[Path, Console], None] | None = None,
) -> None:
    """Check the files of a release, or download them (or `fetch` them otherwise) if none is there.

    Nothing is ever overwritten: a folder with a wrong file is refused, not replaced.
    """
    root = data_root(data_dir)
    if not release.locate(root).exists():
        with _explain_full_disk(root):
            root.mkdir(parents=True, exist_ok=True)
            with FileLock(root / f".{release.folder}.lock"):
                if not (root / release.folder).exists():  # else another process has just got it
                    (fetch or release.fetch)(root, console)
    folder, num_wrong = release.locate(root), 0
    for path, error, holds, _ in release.check_files(folder):
        line = f"WRONG: {path.name}, {error}" if error else f"ok: {path.name}, {holds}, official"
        console.print(line, soft_wrap=True, markup=False, highlight=False)
        num_wrong += bool(error)
    if num_wrong:
        remedy = "move it away, then run this again to get it"
        refuse("data", f"{folder} must hold the official files", f"{num_wrong} wrong", remedy)
    console.print(f"{release.name} is in {folder}", soft_wrap=True, markup=False, highlight=False)


@contextmanager
def _explain_full_disk(root: Path) -> Iterator[None]:
    """Name the folder and the remedy when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        text = f"data: no space is left for {root}; free 400 MB and try again, or name another"
        raise OSError(error.errno, f"{text} folder by data_dir or SOFTAUG_DATA") from error


@contextmanager
def install(root: Path, release: Release) -> Iterator[Path]:
    """Yield a temporary folder to fill; move it into `root` if every file is official.

    Whatever fails, no unfinished folder is left.
    """
    unfinished = root / f".{release.folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
    try:
        unfinished.mkdir()
        yield unfinished
        checks = release.check_files(unfinished)
        wrong = [f"{check.path.name}: {check.error}" for check in checks if check.error]
        if wrong:
            rule = f"files for {release.folder} must be those of the official release"
            refuse("data", rule, "; ".join(wrong), "nothing was put in place")
        unfinished.rename(root / release.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def download(
    url: str, part: Path, find_error: Callable[[Path], str], console: Console, by_hand: str
) -> None:
    """Complete the file `part`, asking only for the bytes it lacks; delete it if it is wrong.

    All bytes received are saved if the network fails; `by_hand` says what the user can do then.
    """
    have = part.stat().st_size if part.exists() else 0
    try:
        _download_rest(url, part, have, console)
    except (OSError, HTTPException) as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        remedy = f"running this again goes on from there; or {by_hand}"
        refuse("data", f"{url} must be reachable", error, remedy)
    if error_found := find_error(part):
        part.unlink()
        remedy = f"this bad download was deleted; try again, or {by_hand}"
        refuse("data", f"{part} must be the official file", error_found, remedy)


def _download_rest(url: str, part: Path, have: int, console: Console) -> None:
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response: Any = urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if have and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # it was whole already
        raise
    if response.status != HTTPStatus.PARTIAL_CONTENT:  # the server sends all of it again
        have = 0
    length, done, name = int(response.headers["Content-Length"] or 0), 0, url.rsplit("/", 1)[-1]
    with (
        response,
        part.open("ab" if have else "wb") as file,
        progress(console, length // 1000, "kB") as show,
    ):
        while done < length:
            chunk = response.read1(CHUNK)  # `read` may lose the last bytes that came
            if not chunk:
                raise ConnectionError(f"the connection ended {length - done:,} bytes early")
            file.write(chunk)
            done += len(chunk)
            percent = 10 * int(10 * (have + done) / (have + length))
            show(done // 1000, f"{name}: {percent} % of {(have + length) / 1e6:.0f} MB")
