"""Decoding with Pillow: every format, always the whole image."""

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from softaug.data.image_file import ImageFile

Box = tuple[int, int, int, int]  # left, top, right, bottom


def decode(file: ImageFile, box: Box, scale: int = 1) -> Tensor:
    """RGB pixels of the upright image within `box`, uint8 [3, h, w], colours side by side.

    Greyscale becomes three equal channels, CMYK and palettes become RGB, and transparency is
    dropped. With a `scale` of 2, 4 or 8, for JPEGs, each pixel is one of the image that many
    times smaller, edges rounded up; so are those of the box.
    """
    return as_tensor(upright(file, scale).crop(box))


def upright(file: ImageFile, scale: int = 1) -> Image.Image:
    """The image as it is looked at, a JPEG `scale` times smaller."""
    image = file.image()
    if scale > 1:
        image.draft(None, (image.width // scale, image.height // scale))
    return ImageOps.exif_transpose(image) if file.turned else image


def as_tensor(image: Image.Image) -> Tensor:
    """RGB pixels, uint8 [3, h, w], colours side by side in memory."""
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)
