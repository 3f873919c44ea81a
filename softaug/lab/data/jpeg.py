"""The head of a plain JPEG, read in two microseconds; Pillow takes thirty."""

import io
import os
import threading
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

FRAMES = (0xC0, 0xC1, 0xC2)  # baseline, extended and progressive
SCAN, EXIF_OR_XMP = 0xDA, 0xE1
GREY, COLOUR = 1, 3  # components
Data = bytes | memoryview  # of a file


class JpegHead(NamedTuple):
    """An image's size, and where its first scan begins in the file."""

    height: int
    width: int
    scan: int


def plain_jpeg(data: Data) -> JpegHead | None:
    """The head of a JPEG of 8 bits, grey or in colour, with nothing that could turn it.

    None of any other file, be it whole or broken: it is left to Pillow.
    """
    if data[:2] != b"\xff\xd8":
        return None
    try:
        return _walk(data)
    except IndexError:  # it ends in its head
        return None


def _walk(data: Data) -> JpegHead | None:
    """From marker to marker: 0xff, what it is, and the length of what follows in two bytes."""
    place, height, width = 2, 0, 0
    while data[place] == 0xFF:
        marker, length = data[place + 1], _number(data, place + 2)
        if marker == SCAN:
            return JpegHead(height, width, place + 2 + length) if height and width else None
        if marker in FRAMES:
            if data[place + 4] != 8 or data[place + 9] not in (GREY, COLOUR):
                return None
            height, width = _number(data, place + 5), _number(data, place + 7)
        elif marker == EXIF_OR_XMP or not _is_passed_over(marker):
            return None
        place += 2 + length
    return None


def _is_passed_over(marker: int) -> bool:
    """Tables, comments and notes of applications."""
    return marker in (0xC4, 0xDB, 0xDD, 0xFE) or 0xE0 <= marker <= 0xEF


def _number(data: Data, place: int) -> int:
    return data[place] << 8 | data[place + 1]


END = 0xD9
SCAN_LENGTHS = (8, 10, 12, 14)  # 6 and 2 for each of its 1 to 4 components
# Tables, the image's height, comments and notes of applications.
SEGMENTS = frozenset((0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0)))

_IS_MARKER = np.ones(256, dtype=bool)
_IS_MARKER[[0x00, 0xFF, *range(0xD0, 0xD8)]] = False  # after 0xff: itself, padding, restarts


def check_scans(data: Data, scan: int) -> None:
    """Raise the reason if a marker that cannot be there follows `scan`, or none ends the image.

    A decoder fills the rest of a scan with grey from a marker on; not every one says so.
    """
    after = scan
    for place in _markers(data, scan):
        if place < after:  # within a segment, which may hold any bytes
            continue
        marker = data[place + 1]
        if marker == END:
            return
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        after = place + 2 + length
        if not _can_be(marker, length, data[after : after + 1]):
            raise ValueError(f"a damaged JPEG: its image data holds a marker 0xff{marker:02x}")
    raise ValueError("a truncated JPEG: its end marker is missing")


def _can_be(marker: int, length: int, follows: Data) -> bool:
    """Whether a segment is one: a scan's head is of few lengths, the others end at a marker."""
    if marker == SCAN:
        return length in SCAN_LENGTHS
    return marker in SEGMENTS and follows in (b"\xff", b"")


def _markers(data: Data, start: int) -> list[int]:
    """Where 0xff stands before a byte that makes it a marker, in segments too."""
    found = np.frombuffer(data, np.uint8)[start:]
    places = np.flatnonzero(found[:-1] == 0xFF)
    markers: list[int] = (places[_IS_MARKER[found[places + 1]]] + start).tolist()
    return markers


JPEGS = ("JPEG", "MPO")


class ImageFile(NamedTuple):
    """A file's bytes, and the height and width of the image as it is looked at."""

    data: Data
    height: int
    width: int
    is_jpeg: bool
    is_plain: bool = False  # a JPEG in grey or colour, stored upright
    turned: bool = False  # stored mirrored or on its side, as EXIF says

    def image(self) -> Image.Image:
        """Pillow's image, which decodes when its pixels are asked for."""
        return Image.open(io.BytesIO(self.data))


def open_image(path: str) -> ImageFile:
    """Read a file; see `describe`."""
    with open(path, "rb", buffering=0) as file:
        return describe(file.read())


def describe(data: Data) -> ImageFile:
    """What the head of a file says; what is no image, or a part of one, raises the reason why.

    A JPEG that ends before its end marker is such a part, and so is one with a marker amid its
    image data: a window that does not reach what is missing could be decoded, but the same
    file would fail, or be grey, in another epoch.
    """
    head = plain_jpeg(data)
    if head is None:
        return _open_with_pillow(data)
    check_scans(data, head.scan)
    return ImageFile(data, head.height, head.width, is_jpeg=True, is_plain=True)


def _open_with_pillow(data: Data) -> ImageFile:
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
    return _described(data, image)


def _described(data: Data, image: Image.Image) -> ImageFile:
    orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    turned = orientation in range(2, 9) and image.format != "TIFF"  # Pillow turns these itself
    width, height = reversed(image.size) if turned and orientation >= 5 else image.size
    is_plain = image.format == "JPEG" and image.mode in ("L", "RGB") and not turned
    return ImageFile(data, height, width, image.format in JPEGS, is_plain, turned)


BLOCK = 8 * 2**20


class FileMemory(threading.local):
    """What was read stays until `clear`; each thread has memory of its own, which it keeps."""

    def __init__(self) -> None:
        self._blocks: list[memoryview] = []
        self.clear()

    def clear(self) -> None:
        """Let the next files overwrite those that were read."""
        self._block = self._used = 0

    def read(self, path: str) -> memoryview:
        """All bytes of a file."""
        with open(path, "rb", buffering=0) as file:
            room = self._room(os.fstat(file.fileno()).st_size)
            num = 0
            while read := file.readinto(room[num:]):  # of large files it reads a part at a time
                num += read
        return room[:num]

    def _room(self, size: int) -> memoryview:
        """Bytes that nobody uses."""
        if size > BLOCK:  # too rare to be kept
            return memoryview(bytearray(size))
        if self._used + size > BLOCK:
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._blocks.append(memoryview(bytearray(BLOCK)))
        self._used += size
        return self._blocks[self._block][self._used - size : self._used]
