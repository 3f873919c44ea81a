"""The command `softaug data`."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.data import convert
from softaug.data.fetch import get
from softaug.data.load import check_name, is_files
from softaug.data.releases import FETCHED, RELEASES
from softaug.data.survey import survey


def data(
    name: Annotated[str, tyro.conf.Positional],
    data_dir: Path | None = None,
    from_torchvision: Path | None = None,
    decode: bool = False,
) -> None:
    """Get a data set, or check the one that is there; nothing is ever overwritten.

    Args:
        name: cifar10, cifar100, fashion-mnist, imagenet, imagenette, digits, or folder:PATH.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        from_torchvision: Convert torchvision's download in this folder; nothing is fetched.
        decode: Decode every file of a folder, to name all that cannot be; else heads are read.
    """
    check_name("data", name)
    if decode and not is_files(name):
        refuse("data", "decode must be left out but for folders", name)
    if name in RELEASES and from_torchvision is not None:
        convert.from_torchvision(name, from_torchvision, data_dir, Console())
    elif from_torchvision is not None:
        refuse("data", "from_torchvision must be left out but for CIFAR", name)
    elif name in FETCHED:
        get(name, data_dir, Console())
    else:
        survey(name, Console(), data_dir, decode)
