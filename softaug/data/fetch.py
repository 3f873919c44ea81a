"""Data sets from their makers: checked if they are there, fetched if they are not."""

import hashlib
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

from rich.console import Console

from softaug.checks import check_choice, refuse
from softaug.data.check import findings, wrong_idx
from softaug.data.download import download
from softaug.data.install import alone, installing, telling_of_a_full_disk
from softaug.data.place import apt_get, data_folder, release_folder
from softaug.data.releases import FETCHED, AnyRelease, IdxFile, IdxRelease, Release, release_of


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
