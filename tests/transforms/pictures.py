"""Images and draws that tests of transforms share."""

import torch

from softaug import DrawKey

DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def pictures(num=12, channels=3, height=8, width=10):
    """Noise, uint8."""
    generator = torch.Generator().manual_seed(0)
    shape = (num, channels, height, width)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def coded(channels, height, width, dtype=torch.float32):
    """An image whose every pixel names its place: 1, 2, 3, ..."""
    count = channels * height * width
    return (torch.arange(count) + 1).view(channels, height, width).to(dtype)


def key_of(num, epoch=0):
    return DrawKey(0, epoch, torch.arange(num))


def drawn(transform, num=5000, height=40, width=60, channels=1):
    """Parameters for many images that take no memory."""
    images = torch.ones(()).expand(num, channels, height, width)
    return transform.draw(images, key=key_of(num))
