"""Decoding with nvImageCodec on the CPU: of a JPEG, only the part that is asked for."""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softaug.data import pillow
from softaug.data.image_file import ImageFile
from softaug.data.pillow import Box
from softaug.files import silent_stderr

# Pillow's ways, so that both give the same pixels.
OPTIONS = ":fancy_upsampling=1 :fast_idct=0"
# Of the first column alone, where colours are stored for every other, those below are wrong.
LEAST_WIDTH = 2


class NvImageCodec:
    """Decodes plain JPEGs in the calling thread; what else there is goes to Pillow.

    Plain is greyscale or colour in 8 bits, upright, at full size: the pixels are Pillow's.
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
        """What `pillow.decode` gives, decoding no more than `box`."""
        left, top, right, bottom = box
        if scale > 1 or not file.is_plain or right < LEAST_WIDTH:
            return pillow.decode(file, box, scale)
        region = self._library.Region(top, left, bottom, right)
        stream = self._library.CodeStream(np.frombuffer(file.data, np.uint8))
        image = self._decoder.decode(stream.get_sub_code_stream(region=region))
        if image is None:  # Pillow knows the reason, or can decode it
            return pillow.decode(file, box)
        return np.asarray(image)
