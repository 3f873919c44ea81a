"""Decoding with nvImageCodec on the CPU: of a JPEG, only the part that is asked for."""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softaug.data import pillow
from softaug.data.image_file import ImageFile
from softaug.data.pillow import Box
from softaug.files import silent_stderr

# Pillow's ways, so that both give the same pixels.
OPTIONS = ":fancy_upsampling=1 :fast_idct=0"
# Of one column alone, where colours are stored for every other, all but the first are wrong.
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

    def __call__(self, file: ImageFile, box: Box, scale: int = 1) -> Tensor:
        """What `pillow.decode` gives, decoding no more than `box`."""
        if scale > 1 or not file.is_plain:
            return pillow.decode(file, box, scale)
        left, top, right, bottom = box
        wide_enough = max(right, min(LEAST_WIDTH, file.width))
        region = self._library.Region(top, left, bottom, wide_enough)
        stream = self._library.CodeStream(file.data).get_sub_code_stream(region=region)
        image = self._decoder.decode(stream)
        if image is None:  # Pillow knows the reason, or can decode it
            return pillow.decode(file, box)
        return torch.from_numpy(np.asarray(image)[:, : right - left]).permute(2, 0, 1)
