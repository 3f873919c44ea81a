"""An image file that was read but not decoded: its bytes and what its head says."""

import io
from typing import NamedTuple

from PIL import ExifTags, Image, UnidentifiedImageError

END_OF_JPEG = b"\xff\xd9"


class ImageFile(NamedTuple):
    """A file's bytes, and the height and width of the image as it is looked at."""

    data: bytes
    head: Image.Image  # Pillow's, which decodes when its pixels are asked for
    height: int
    width: int
    turned: bool  # stored mirrored or on its side, as EXIF says


def open_image(path: str) -> ImageFile:
    """Read a file once; what is no image, or a part of one, raises the reason why.

    A JPEG that ends before its end marker is such a part: a window that does not reach what
    is missing could be decoded, but the same file would fail in the next epoch.
    """
    with open(path, "rb") as file:
        data = file.read()
    if not data:
        raise ValueError("an empty file")
    stream = io.BytesIO(data)
    try:
        head = Image.open(stream)
    except UnidentifiedImageError:  # its own words name the stream, not the file
        raise ValueError("no image in a format that Pillow knows") from None
    if head.mode.startswith(("I", "F")):
        raise ValueError(f"more than 8 bits a channel (mode {head.mode})")
    # The stream stands where the scan begins: an end before it is that of a thumbnail.
    if head.format == "JPEG" and data.rfind(END_OF_JPEG, stream.tell()) < 0:
        raise ValueError("a truncated JPEG, its end marker is missing")
    return _upright(data, head)


def _upright(data: bytes, head: Image.Image) -> ImageFile:
    # Pillow turns TIFFs by itself.
    orientation = 1 if head.format == "TIFF" else head.getexif().get(ExifTags.Base.Orientation, 1)
    width, height = head.size
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return ImageFile(data, head, height, width, turned=orientation in range(2, 9))
