"""What decodes image files: one interface, and the choice of what is behind it."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softaug.checks import check_choice
from softaug.data import pillow
from softaug.data.image_file import ImageFile
from softaug.data.nvimgcodec import NvImageCodec
from softaug.data.pillow import Box

VARIABLE = "SOFTAUG_DECODER"


class Decode(Protocol):
    """Pixels of a part of an image; see `softaug.data.pillow.decode`, which all agree with."""

    def __call__(self, file: ImageFile, box: Box, scale: int = 1) -> NDArray[np.uint8]: ...


DECODERS: Mapping[str, Callable[[], Decode]] = {
    "nvimgcodec": NvImageCodec,
    "pillow": lambda: pillow.decode,
}


def decoder() -> Decode:
    """By nvImageCodec where it is installed, else Pillow; SOFTAUG_DECODER names one of them.

    Made once in each process: a forked loader worker makes its own.
    """
    return _made(os.environ.get(VARIABLE, ""), os.getpid())


@cache
def _made(name: str, process: int) -> Decode:
    # Kept for the parent's process number too, or a forked child would destroy the parent's.
    del process
    name = name or ("nvimgcodec" if is_installed() else "pillow")
    check_choice("decoder", VARIABLE, name, tuple(DECODERS))
    return DECODERS[name]()


def is_installed() -> bool:
    """Whether nvImageCodec is (pip install 'softaug[photos]')."""
    return find_spec("nvidia") is not None and find_spec("nvidia.nvimgcodec") is not None
