"""The command `softaug data`."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.data import convert
from softaug.data.fetch import get
from softaug.data.load import check_name
from softaug.data.releases import RELEASES
from softaug.data.survey import survey


def data(
    name: Annotated[str, tyro.conf.Positional],
    data_dir: Path | None = None,
    from_torchvision: Path | None = None,
) -> None:
    """Get a data set, or check the one that is there; nothing is ever overwritten.

    Args:
        name: cifar10, cifar100, imagenet, imagenette, digits, or folder:PATH.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        from_torchvision: Convert torchvision's download in this folder; nothing is fetched.
    """
    check_name("data", name)
    if name in RELEASES and from_torchvision is not None:
        convert.from_torchvision(name, from_torchvision, data_dir, Console())
    elif name in RELEASES:
        get(name, data_dir, Console())
    elif from_torchvision is not None:
        refuse("data", "from_torchvision must be left out but for CIFAR", name)
    else:
        survey(name, Console(), data_dir)
