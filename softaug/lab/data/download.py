"""Getting a file over the network, from where the last try ended."""

import errno
import hashlib
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from filelock import FileLock, Timeout
from rich.console import Console

from softaug.checks import check_choice, refuse
from softaug.lab.data.fashion_mnist import open_idx, values
from softaug.lab.data.releases import (
    FETCHED,
    AnyRelease,
    IdxFile,
    IdxRelease,
    Release,
    apt_get,
    data_folder,
    release_folder,
    release_of,
)
from softaug.lab.progress import progress


class Finding(NamedTuple):
    """What was found out about one file."""

    file: str
    good: bool
    text: str


def findings(folder: Path, release: AnyRelease) -> Iterator[Finding]:
    """One for each file that the release must have."""
    if isinstance(release, IdxRelease):
        return _of_idx(folder, release)
    return _of_records(folder, release)


def _of_idx(folder: Path, release: IdxRelease) -> Iterator[Finding]:
    for file in release.files:
        path, what = file.path(folder), "labels" if file.holds_labels else "images"
        wrong = wrong_idx(path, file, len(release.class_names))
        yield Finding(path.name, not wrong, wrong or f"{file.shape[0]:,} {what}, sha256 official")


def wrong_idx(path: Path, file: IdxFile, num_classes: int) -> str:
    """What is wrong with a file of MNIST's format; nothing if its content is official."""
    if not path.is_file():
        return "missing"
    content, wrong = open_idx(path, file.shape)
    if wrong or hashlib.sha256(content).hexdigest() == file.sha256:
        return wrong
    wrong = "sha256 is not the official one"
    largest = int(values(content, file.shape).max())
    if file.holds_labels and largest >= num_classes:
        wrong += f", label {largest} is outside 0..{num_classes - 1}"
    return wrong


def _of_records(folder: Path, release: Release) -> Iterator[Finding]:
    for split, files in (("train", release.train), ("test", release.test)):
        for file, sha256 in files.items():
            size = release.images_in_file[split] * release.record
            wrong = _wrong_images(folder / file, size, sha256, release)
            right = f"{release.images_in_file[split]:,} images, sha256 official"
            yield Finding(file, not wrong, wrong or right)
    for kind, file in release.names.items():
        wrong = _wrong_names(folder / file, release.names_sha256[kind])
        right = f"{release.num_classes[kind]} class names, official"
        yield Finding(file, not wrong, wrong or right)


def _wrong_images(path: Path, size: int, sha256: str, release: Release) -> str:
    """What is wrong with a file of images; nothing if it is the official one."""
    if not path.is_file():
        return "missing"
    if path.stat().st_size != size:
        return f"{path.stat().st_size:,} bytes, should be {size:,}"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == sha256:
        return ""
    wrong = ["sha256 is not the official one"]
    for kind, byte in release.label_bytes.items():
        largest, most = max(content[byte :: release.record]), release.num_classes[kind] - 1
        if largest > most:
            wrong.append(f"{kind} label {largest} is outside 0..{most}")
    return ", ".join(wrong)


def _wrong_names(path: Path, sha256: str) -> str:
    if not path.is_file():
        return "missing"
    # Of the words alone: releases differ in how many line ends follow the last name.
    names = b"\n".join(path.read_bytes().split())
    return "" if hashlib.sha256(names).hexdigest() == sha256 else "class names differ"


CHUNK = 1 << 18
TIMEOUT = 30  # seconds without a byte


def download(url: str, part: Path, console: Console, by_hand: str) -> None:
    """Complete `part`, asking only for what it lacks; bytes that came are always kept.

    A failure of the network is told with `by_hand`, what the user can do instead.
    """
    have = part.stat().st_size if part.exists() else 0
    with _network(url, by_hand):
        answer = _ask(url, have)
    if answer is None:
        return
    with answer:
        if answer.status != HTTPStatus.PARTIAL_CONTENT:  # the server sends all of it again
            have = 0
        with part.open("ab" if have else "wb") as file:
            for chunk in _chunks(answer, url, have, console, by_hand):
                file.write(chunk)


def _ask(url: str, have: int) -> Any:
    """The server's answer; None if it has nothing beyond the `have` bytes."""
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as refused:
        if have and refused.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        raise


def _chunks(answer: Any, url: str, have: int, console: Console, by_hand: str) -> Iterator[bytes]:
    """What the server sends, to its last byte, with progress."""
    with _network(url, by_hand):
        length = int(answer.headers["Content-Length"] or 0)
    came, name = 0, url.rsplit("/", 1)[-1]
    with progress(console, length // 1000, "kB") as show:
        while came < length:
            with _network(url, by_hand):
                chunk = answer.read1(CHUNK)  # `read` may lose the last bytes that came
                if not chunk:
                    raise ConnectionError(f"the connection ended {length - came:,} bytes early")
            yield chunk
            came += len(chunk)
            percent = 10 * int(10 * (have + came) / (have + length))
            show(came // 1000, f"{name}: {percent} % of {(have + length) / 1e6:.0f} MB")


@contextmanager
def _network(url: str, by_hand: str) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as failed:
        refuse("data", f"{url} must be reachable", failed, by_hand)


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


def get(name: str, data_dir: Path | str | None, console: Console) -> None:
    """Check the files of a set in `FETCHED`, or fetch them if there are none.

    Nothing is ever overwritten: a set with something wrong is refused, not replaced.
    """
    check_choice("data", "name", name, FETCHED)
    release, home = release_of(name), data_folder(data_dir)
    if not release_folder(release, home).exists():
        with telling_of_a_full_disk(home), alone(home, release, console):
            if not (home / release.folder).exists():  # else another process has just got it
                _fetch(release, home, console)
    report(name, release, home, console)


def report(name: str, release: AnyRelease, home: Path, console: Console) -> None:
    """Print one line for each file; refuse the set if one is not the official one."""
    folder, num_wrong = release_folder(release, home), 0
    for found in findings(folder, release):
        line = f"{'ok' if found.good else 'WRONG'}: {found.file}, {found.text}"
        console.print(line, soft_wrap=True, markup=False, highlight=False)
        num_wrong += not found.good
    if num_wrong:
        remedy = "move it away, then run this again to get it"
        refuse("data", f"{folder} must hold the official files", f"{num_wrong} wrong", remedy)
    console.print(f"{name} is in {folder}", soft_wrap=True, markup=False, highlight=False)


def _fetch(release: AnyRelease, home: Path, console: Console) -> None:
    if isinstance(release, IdxRelease):
        _fetch_files(release, home, console)
    else:
        _fetch_archive(release, home, console)


def _fetch_files(release: IdxRelease, home: Path, console: Console) -> None:
    """Download the gzipped files one by one; they get their place together."""
    by_hand = f"put the files of {release.url} into {home / release.folder} by other means"
    by_hand += f", or use {apt_get(release)}" if release.package else ""
    names = {f"{file.name}.gz": file for file in release.files}
    for name, file in names.items():
        check = partial(_check_idx, file, len(release.class_names))
        _download(release.url + name, _part(name, release, home), check, console, by_hand)
    with installing(home, release) as folder:
        for name in names:
            _part(name, release, home).rename(folder / name)


def _part(name: str, release: IdxRelease, home: Path) -> Path:
    return home / f"{release.folder}-{name}.part"


def _check_idx(file: IdxFile, num_classes: int, path: Path, remedy: str) -> None:
    if wrong := wrong_idx(path, file, num_classes):
        refuse("data", f"{path} must hold the official {file.name}", wrong, remedy)


def _fetch_archive(release: Release, home: Path, console: Console) -> None:
    """Unpack an archive that the user put there, else one that is downloaded and then removed."""
    archive = home / release.archive
    if archive.exists():
        _check_archive(release, archive, "remove it, then try again")
        _unpack(archive, home, release)
        return
    part = archive.with_name(f"{archive.name}.part")
    by_hand = f"get {release.url} by other means, put it at {archive} and run this again"
    _download(release.url, part, partial(_check_archive, release), console, by_hand)
    _unpack(part, home, release)
    part.unlink()


def _download(
    url: str, part: Path, check: Callable[[Path, str], None], console: Console, by_hand: str
) -> None:
    """Complete `part`; one that `check(part, remedy)` refuses is deleted."""
    download(url, part, console, f"running this again goes on from there; or {by_hand}")
    try:
        check(part, f"this bad download was deleted; try again, or {by_hand}")
    except ValueError:
        part.unlink()
        raise


def _check_archive(release: Release, path: Path, remedy: str) -> None:
    with path.open("rb") as file:
        found = hashlib.sha256()
        while chunk := file.read(1 << 20):
            found.update(chunk)
    if found.hexdigest() != release.archive_sha256:
        rule = f"{path} must have the official sha256 {release.archive_sha256}"
        refuse("data", rule, found.hexdigest(), remedy)


def _unpack(archive: Path, home: Path, release: Release) -> None:
    """Put the release's files in place; other files of its folder (a readme) stay packed."""
    wanted = {*release.train, *release.test, *release.names.values()}
    with installing(home, release) as folder, tarfile.open(archive, "r:gz") as packed:
        for member in packed:
            top, *below = PurePosixPath(member.name).parts
            if top != release.folder or len(below) > 1 or not (member.isfile() or member.isdir()):
                rule = f"{archive.name} must hold plain files in {release.folder} alone"
                refuse("data", rule, member.name, "nothing was put in place")
            if below and below[0] in wanted and member.isfile():
                member.name = below[0]
                packed.extract(member, folder, filter="data")
