"""Where data sets lie."""

import os
from pathlib import Path


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
