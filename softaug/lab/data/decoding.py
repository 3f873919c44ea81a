"""Image files: their headers, whether a JPEG is whole, and decoders with the same pixels.

Headers are read by Pillow; decoders are Pillow and nvImageCodec.
"""

import io
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from softaug.checks import check_choice
from softaug.lab.io import silent_stderr

SCAN, END = 0xDA, 0xD9
SCAN_LENGTHS = (8, 10, 12, 14)  # 6 and 2 for each of its 1 to 4 components
# What may stand between scans: tables, comments, notes of applications and the image's height.
SEGMENTS = frozenset((0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0)))
JPEGS = ("JPEG", "MPO")

_IS_MARKER = np.ones(256, dtype=bool)
_IS_MARKER[[0x00, 0xFF, *range(0xD0, 0xD8)]] = False  # after 0xff: itself, padding, restarts


class ImageFile(NamedTuple):
    """A file's bytes, and the height and width of the upright image."""

    data: bytes
    height: int
    width: int
    is_jpeg: bool
    is_plain: bool = False  # a JPEG in gray or RGB, stored upright
    turned: bool = False  # stored mirrored or on its side, as EXIF says


def open_image(path: str) -> ImageFile:
    """Read a file and its header; raise the reason if it is not a whole image.

    A JPEG without its end marker, or with a marker amid its image data, is refused: a window that
    does not reach what is missing could be decoded, but the same file would fail, or be gray, in
    another epoch.
    """
    with open(path, "rb") as file:
        data = file.read()
    if not data:
        raise ValueError("an empty file")
    stream = io.BytesIO(data)
    try:
        image = Image.open(stream)
    except UnidentifiedImageError:  # its own words name the stream, not the file
        raise ValueError("no image in a format that Pillow knows") from None
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"more than 8 bits a channel (mode {image.mode})")
    if image.format == "JPEG":
        check_scans(data, stream.tell())
    orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    turned = orientation in range(2, 9) and image.format != "TIFF"  # Pillow turns these itself
    width, height = reversed(image.size) if turned and orientation >= 5 else image.size
    is_plain = image.format == "JPEG" and image.mode in ("L", "RGB") and not turned
    return ImageFile(data, height, width, image.format in JPEGS, is_plain, turned)


def check_scans(data: bytes, scan: int) -> None:
    """Raise if the image data from `scan` on holds an impossible marker, or no end marker.

    A decoder fills the rest of a scan with gray from such a marker on; not every one says so.
    """
    segment_end = scan
    for position in _find_markers(data, scan):
        if position < segment_end:  # within a segment, which may hold any bytes
            continue
        marker = data[position + 1]
        if marker == END:
            return
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        segment_end = position + 2 + length
        if not _is_segment(marker, length, data[segment_end : segment_end + 1]):
            raise ValueError(f"a damaged JPEG: its image data holds a marker 0xff{marker:02x}")
    raise ValueError("a truncated JPEG: its end marker is missing")


def _is_segment(marker: int, length: int, next_byte: bytes) -> bool:
    """Whether a segment is valid: a scan's header has few lengths, the others end at a marker."""
    if marker == SCAN:
        return length in SCAN_LENGTHS
    return marker in SEGMENTS and next_byte in (b"\xff", b"")


def _find_markers(data: bytes, start: int) -> list[int]:
    """Return where 0xff stands before a byte that makes it a marker, in segments too."""
    content = np.frombuffer(data, np.uint8)[start:]
    positions = np.flatnonzero(content[:-1] == 0xFF)
    markers: list[int] = (positions[_IS_MARKER[content[positions + 1]]] + start).tolist()
    return markers


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
    image: Image.Image = Image.open(io.BytesIO(file.data))
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
VARIABLE = "SOFTAUG_DECODER"


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


Decode = Callable[[ImageFile, Box, int], NDArray[np.uint8]]  # see `decode`, with which all agree
DECODERS = ("nvimgcodec", "pillow")


def get_decoder() -> Decode:
    """Return nvImageCodec where it is installed, else Pillow; SOFTAUG_DECODER may name one.

    It is made once in each process: a forked loader worker makes its own.
    """
    name = os.environ.get(VARIABLE) or ("nvimgcodec" if is_installed() else "pillow")
    check_choice("decoder", VARIABLE, name, DECODERS)
    return _make_nvimgcodec(os.getpid()) if name == "nvimgcodec" else decode


@cache
def _make_nvimgcodec(process: int) -> NvImageCodec:
    # Kept for the parent's process number too, or a forked child would destroy the parent's.
    del process
    return NvImageCodec()


def is_installed() -> bool:
    """Whether nvImageCodec is installed (pip install 'softaug[photos]')."""
    return find_spec("nvidia") is not None and find_spec("nvidia.nvimgcodec") is not None
