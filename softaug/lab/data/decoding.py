"""Decoders of image files, Pillow and nvImageCodec, with the same pixels."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from softaug.checks import check_choice
from softaug.lab.data.jpeg import ImageFile
from softaug.lab.io import silent_stderr

Box = tuple[int, int, int, int]  # left, top, right, bottom


def decode(file: ImageFile, box: Box, scale: int = 1) -> NDArray[np.uint8]:
    """Decode the upright image within `box` with Pillow: RGB pixels, [h, w, 3].

    Grayscale becomes three equal channels, CMYK and palettes become RGB, and transparency is
    dropped. With a `scale` of 2, 4 or 8, for JPEGs, pixels and `box` are those of the image that
    many times smaller, edges rounded up.
    """
    return np.array(open_upright(file, scale).crop(box).convert("RGB"))


def open_upright(file: ImageFile, scale: int = 1) -> Image.Image:
    """Open the image turned as EXIF says, a JPEG `scale` times smaller."""
    image = file.image()
    if scale > 1:
        image.draft(None, (image.width // scale, image.height // scale))
    return ImageOps.exif_transpose(image) if file.turned else image


def to_tensor(image: Image.Image) -> Tensor:
    """Convert to RGB pixels, uint8 [3, h, w], channels last in memory."""
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


# Pillow's settings of libjpeg, so that both give the same pixels.
OPTIONS = ":fancy_upsampling=1 :fast_idct=0"
# Of the first column alone, where colors are stored for every other, nvImageCodec's are wrong.
MIN_WIDTH = 2


class NvImageCodec:
    """Decodes plain JPEGs in the calling thread; leaves other files to Pillow.

    Plain is gray or RGB in 8 bits, upright, at full size: the pixels are Pillow's.
    """

    def __init__(self) -> None:
        with silent_stderr():  # its C++ part reports there which GPU libraries are not installed
            library: Any = import_module("nvidia.nvimgcodec")
            self._decoder = library.Decoder(
                device_id=library.NVIMGCODEC_DEVICE_CPU_ONLY,
                max_num_cpu_threads=1,  # loader workers are the parallel part
                backends=[library.Backend(library.CPU_ONLY)],
                options=OPTIONS,
            )
        self._library = library

    def __call__(self, file: ImageFile, box: Box, scale: int = 1) -> NDArray[np.uint8]:
        """Return the pixels of `decode`, decoding no more than `box`."""
        left, top, right, bottom = box
        if scale > 1 or not file.is_plain or right < MIN_WIDTH:
            return decode(file, box, scale)
        region = self._library.Region(top, left, bottom, right)
        stream = self._library.CodeStream(np.frombuffer(file.data, np.uint8))
        image = self._decoder.decode(stream.get_sub_code_stream(region=region))
        if image is None:  # Pillow knows the reason, or can decode it
            return decode(file, box)
        return np.asarray(image)


VARIABLE = "SOFTAUG_DECODER"


class Decode(Protocol):
    """Decodes a part of an image; see `decode`, with which all agree."""

    def __call__(self, file: ImageFile, box: Box, scale: int = 1) -> NDArray[np.uint8]: ...


DECODERS: Mapping[str, Callable[[], Decode]] = {
    "nvimgcodec": NvImageCodec,
    "pillow": lambda: decode,
}


def get_decoder() -> Decode:
    """Return nvImageCodec where it is installed, else Pillow; SOFTAUG_DECODER may name one.

    It is made once in each process: a forked loader worker makes its own.
    """
    return _make_decoder(os.environ.get(VARIABLE, ""), os.getpid())


@cache
def _make_decoder(name: str, process: int) -> Decode:
    # Kept for the parent's process number too, or a forked child would destroy the parent's.
    del process
    name = name or ("nvimgcodec" if is_installed() else "pillow")
    check_choice("decoder", VARIABLE, name, tuple(DECODERS))
    return DECODERS[name]()


def is_installed() -> bool:
    """Whether nvImageCodec is installed (pip install 'softaug[photos]')."""
    return find_spec("nvidia") is not None and find_spec("nvidia.nvimgcodec") is not None
