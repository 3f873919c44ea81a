"""CIFAR from its makers: checked if it is there, fetched if it is not."""

import hashlib
import tarfile
from pathlib import Path, PurePosixPath

from rich.console import Console

from softaug.checks import check_choice, refuse
from softaug.data.check import findings
from softaug.data.download import download
from softaug.data.install import alone, installing, telling_of_a_full_disk
from softaug.data.place import data_folder
from softaug.data.releases import RELEASES, Release


def get(name: str, data_dir: Path | str | None, console: Console) -> None:
    """Check the files of "cifar10" or "cifar100", or fetch them if there are none.

    Nothing is ever overwritten: a set with something wrong is refused, not replaced.
    """
    check_choice("data", "name", name, tuple(RELEASES))
    release, home = RELEASES[name], data_folder(data_dir)
    if not (home / release.folder).exists():
        with telling_of_a_full_disk(home), alone(home, release, console):
            if not (home / release.folder).exists():  # else another process has just got it
                _fetch(release, home, console)
    report(name, release, home, console)


def report(name: str, release: Release, home: Path, console: Console) -> None:
    """Print one line for each file; refuse the set if one is not the official one."""
    folder, num_wrong = home / release.folder, 0
    for found in findings(folder, release):
        line = f"{'ok' if found.good else 'WRONG'}: {found.file}, {found.text}"
        console.print(line, soft_wrap=True, markup=False, highlight=False)
        num_wrong += not found.good
    if num_wrong:
        remedy = "move it away, then run this again to get it"
        refuse("data", f"{folder} must hold the official files", f"{num_wrong} wrong", remedy)
    console.print(f"{name} is in {folder}", soft_wrap=True, markup=False, highlight=False)


def _fetch(release: Release, home: Path, console: Console) -> None:
    """Unpack an archive that the user put there, else one that is downloaded and then removed."""
    archive = home / release.archive
    if archive.exists():
        _check_archive(archive, release, "remove it, then try again")
        _unpack(archive, home, release)
        return
    part = archive.with_name(f"{archive.name}.part")
    by_hand = f"get {release.url} by other means, put it at {archive} and run this again"
    download(release.url, part, console, f"running this again goes on from there; or {by_hand}")
    try:
        _check_archive(part, release, f"this bad download was deleted; try again, or {by_hand}")
    except ValueError:
        part.unlink()
        raise
    _unpack(part, home, release)
    part.unlink()


def _check_archive(path: Path, release: Release, remedy: str) -> None:
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
