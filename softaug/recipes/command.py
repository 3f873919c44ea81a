"""`softaug recipes`."""

from typing import Annotated

import tyro
from rich.console import Console

from softaug.recipes.show import show_recipes


def recipes(words: Annotated[tuple[str, ...], tyro.conf.Positional] = ()) -> None:
    """List what can be trained, the paper's error beside it; piped, one name a line.

    Args:
        words: Parts of a name, such as cifar100 soft; a full name shows every setting.
    """
    show_recipes(words, Console())
