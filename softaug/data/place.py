"""Where data sets lie."""

import os
from pathlib import Path

from softaug.data.releases import AnyRelease, IdxRelease


def data_folder(data_dir: Path | str | None = None) -> Path:
    """`data_dir`; else what `SOFTAUG_DATA` names; else softaug/data in the user's cache.

    >>> print(data_folder("/data"))
    /data
    """
    chosen = data_dir or os.environ.get("SOFTAUG_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "softaug" / "data"


def release_folder(release: AnyRelease, data_dir: Path | str | None = None) -> Path:
    """Where the files of a release are, or would be got to.

    That is in `data_folder`; if they are not there, where a package of the system has them.
    """
    own = data_folder(data_dir) / release.folder
    if own.exists() or not isinstance(release, IdxRelease) or release.package is None:
        return own
    packaged = release.package.folder
    whole = all(file.path(packaged).is_file() for file in release.files)
    return packaged if whole else own


def how_to_get(name: str, release: AnyRelease, data_dir: Path | str | None) -> str:
    """What to do about files that are missing or bad."""
    option = f" --data-dir {data_folder(data_dir)}" if data_dir else ""
    package = f", as does {apt_get(release)}" if release.package else ""
    return (
        f"`softaug data {name}{option}` gets it{package}; if you have it, name the folder that "
        f"holds {release.folder} by data_dir or SOFTAUG_DATA"
    )


def apt_get(release: AnyRelease) -> str:
    """The command that installs the release's package; empty where there is none."""
    return f"`apt-get install {release.package.name}` on Debian" if release.package else ""
