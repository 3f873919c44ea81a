"""An image file that was read but not decoded: its bytes and what its head says."""

import io
from typing import NamedTuple

from PIL import ExifTags, Image, UnidentifiedImageError

from softaug.data.jpeg_head import Data, plain_jpeg
from softaug.data.jpeg_scans import check_scans

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
