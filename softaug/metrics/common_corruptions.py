"""Fifteen common corruptions at five severities, after CIFAR-10-C (Hendrycks and Dietterich 2019).

Written from their definitions as batched tensor operations. Frost, fog and snow are generated
textures, not photographs, and strengths are our own: accuracies can be compared with each
other, not with published ones on CIFAR-10-C. Lengths are in 1/32 of the short edge.
"""

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from softaug.checks import check_choice, check_images, check_whole, describe, refuse
from softaug.draws import DrawKey, draw_normal_field, draw_uniforms, send

NUM_SEVERITIES = 5
_CHUNK_PIXELS = 100 * 32 * 32  # at a time: what is computed stays in the processor's cache
_PURPOSE = 48  # of keyed draws; transforms and mixing take those below


def corrupt(
    images: Tensor,
    kind: str,
    severity: int,
    generator: Generator | None = None,
    key: DrawKey | None = None,
) -> Tensor:
    """Corrupt uint8 images by one of `COMMON_CORRUPTIONS` at a severity from 1 to 5.

    Each image has its own noise, direction or texture; from one generator's state, or one
    key, it is the same at every severity. One image [3, H, W] or a batch [B, 3, H, W].

    >>> image = torch.full((3, 32, 32), 100, dtype=torch.uint8)
    >>> int(corrupt(image, "brightness", 3)[0, 0, 0])
    138
    """
    check_images("corrupt", images)
    if images.dtype != torch.uint8 or images.shape[-3] != 3:
        refuse("corrupt", "images must be uint8 [3, H, W] or [B, 3, H, W]", describe(images))
    check_choice("corrupt", "kind", kind, COMMON_CORRUPTIONS)
    if check_whole("corrupt", "severity", severity, least=1) > NUM_SEVERITIES:
        refuse("corrupt", f"severity must be at most {NUM_SEVERITIES}", severity)
    function, settings = _KINDS[kind]
    batch = images if images.ndim == 4 else images[None]
    drawn = draw_uniforms("corrupt", images, 2, _PURPOSE, generator, key)
    seed = send((drawn[:, 0] * 2**32).long(), images.device)
    angle = send(drawn[:, 1], images.device).float()
    num = max(1, _CHUNK_PIXELS // (images.shape[-2] * images.shape[-1]))
    parts = []
    for start in range(0, len(batch), num):
        rows = slice(start, start + num)
        draws = _Draws(seed[rows], angle[rows])
        corrupted = function(batch[rows].float() / 255, draws, settings[severity - 1])
        parts.append((corrupted * 255).round_().clamp_(0, 255).to(torch.uint8))
    return torch.cat(parts).view(images.shape)


class _Draws(NamedTuple):
    """What is random about each image."""

    seed: Tensor  # [B], of its normal numbers
    angle: Tensor  # [B], even in 0..1

    def normal(self, *shape: int) -> Tensor:
        """Draw standard normal numbers, [B, *shape]."""
        return draw_normal_field(self.seed, math.prod(shape)).view(-1, *shape)


def _unit(x: Tensor) -> float:
    """Return the length that strengths are given in, in pixels."""
    return min(x.shape[-2:]) / 32


# Noise


def _gaussian_noise(x: Tensor, draws: _Draws, sd: float) -> Tensor:
    return x + sd * draws.normal(*x.shape[1:])


def _shot_noise(x: Tensor, draws: _Draws, photons: float) -> Tensor:
    """Count photons: their root is about normal with sd 1/2; mean and variance are Poisson's."""
    root = (x * photons).sqrt() + draws.normal(*x.shape[1:]) / 2
    return (root.square() - 0.25).round().clamp_min(0) / photons


def _impulse_noise(x: Tensor, draws: _Draws, share: float) -> Tensor:
    """Replace a share of all values by black or white."""
    noise, limit = draws.normal(*x.shape[1:]), NormalDist().inv_cdf(1 - share / 2)
    return torch.where(noise.abs() > limit, (noise > 0).to(x.dtype), x)


# Blur


def _defocus_blur(x: Tensor, draws: _Draws, radius: float) -> Tensor:
    """Average over a disk with a soft edge."""
    radius *= _unit(x)
    down, across = _offsets(radius, x)
    kernel = (radius + 0.5 - (down**2 + across**2).sqrt()).clamp(0, 1)
    return _convolve(x, kernel.expand(len(x), -1, -1))


def _glass_blur(x: Tensor, draws: _Draws, reach: float) -> Tensor:
    """Let every pixel take the color of a random near one, then blur lightly."""
    height, width = x.shape[-2:]
    moved = (draws.normal(2, height, width) * reach * _unit(x)).round().long()
    rows = torch.arange(height, device=x.device)[:, None] + moved[:, 0]
    columns = torch.arange(width, device=x.device) + moved[:, 1]
    source = rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)
    taken = x.flatten(2).gather(2, source.view(len(x), 1, -1).expand(-1, x.shape[1], -1))
    return _smooth(taken.view(x.shape), 0.4 * _unit(x))


def _motion_blur(x: Tensor, draws: _Draws, length: float) -> Tensor:
    """Average along a line, within 45 degrees of level."""
    return _convolve(x, _line_kernels((draws.angle - 0.5) * math.pi / 2, length * _unit(x), x))


def _zoom_blur(x: Tensor, draws: _Draws, most: float) -> Tensor:
    """Average views from whole to magnified by 1 + `most`, half a pixel apart at the edges."""
    num = 2 + round(most * max(x.shape[-2:]) / 2)
    total = torch.zeros_like(x)
    for step in range(num):
        scale = 1 + most * step / (num - 1)
        rows, columns = (_zoom_matrix(edge, scale, str(x.device)) for edge in x.shape[-2:])
        total += rows @ x @ columns.T
    return total / num


@cache
def _zoom_matrix(edge: int, scale: float, device: str) -> Tensor:
    """Magnify a line of pixels about its middle by bilinear interpolation, [edge, edge]."""
    target = torch.arange(edge, device=device)
    source = (target - (edge - 1) / 2) / scale + (edge - 1) / 2
    return (1 - (source[:, None] - target).abs()).clamp_min(0)


@cache
def _smooth_matrix(edge: int, sd: float, device: str) -> Tensor:
    """Blur a line of pixels, mirrored at its ends, by a normal kernel, [edge, edge]."""
    target = torch.arange(edge, device=device)
    kernel = torch.zeros(edge, edge, device=device)
    for source in (target, -1 - target, 2 * edge - 1 - target):
        kernel += (-((target[:, None] - source) ** 2) / (2 * sd**2)).exp()
    return kernel / kernel.sum(1, keepdim=True)


def _smooth(x: Tensor, sd: float) -> Tensor:
    rows, columns = (_smooth_matrix(edge, sd, str(x.device)) for edge in x.shape[-2:])
    return rows @ x @ columns.T


def _offsets(reach: float, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return distances down and across from the middle of a kernel, [K, 1] and [1, K]."""
    far = math.ceil(reach)
    away = torch.arange(-far, far + 1, device=x.device, dtype=x.dtype)
    return away[:, None], away[None]


def _line_kernels(angle: Tensor, length: float, x: Tensor) -> Tensor:
    """Make a line of a length for each angle [B], [B, K, K]."""
    down, across = _offsets(length / 2, x)
    cos, sin = angle.cos()[:, None, None], angle.sin()[:, None, None]
    along, aside = across * cos + down * sin, down * cos - across * sin
    return (length / 2 + 0.5 - along.abs()).clamp(0, 1) * (1 - aside.abs()).clamp_min(0)


def _convolve(x: Tensor, kernels: Tensor) -> Tensor:
    """Convolve each image [C, H, W] by its own kernel of the batch [B, K, K]."""
    channels, reach = x.shape[1], kernels.shape[-1] // 2
    padded = F.pad(x, (reach,) * 4, mode="replicate").flatten(0, 1)[None]
    weights = kernels / kernels.sum((1, 2), keepdim=True)
    weights = weights.repeat_interleave(channels, 0)[:, None]
    return F.conv2d(padded, weights, groups=len(weights)).view(x.shape)


# Weather


def _snow(x: Tensor, draws: _Draws, setting: tuple[float, float]) -> Tensor:
    """Whiten the image and add falling flakes: noise above a limit, drawn out to lines."""
    whitened, limit = setting
    cells = [round(edge / _unit(x)) for edge in x.shape[-2:]]
    flakes = _resize((draws.normal(1, *cells) - limit).clamp_min(0), x)
    falling = (0.25 + draws.angle / 2) * math.pi  # within 45 degrees of straight down
    flakes = _convolve(flakes, _line_kernels(falling, 3 * _unit(x), x))
    gray = x.mean(1, keepdim=True)
    return x + whitened * ((gray + 1) / 2 - x).clamp_min(0) + 1.5 * flakes


def _frost(x: Tensor, draws: _Draws, share: float) -> Tensor:
    """Cover the image with bluish crystals: the ridges of fractal noise."""
    ridges = (1 - (2 * _fractal(x, draws, 0.7) - 1).abs()) ** 2
    color = torch.tensor([0.85, 0.93, 1.0]).view(3, 1, 1)
    covered = share * (0.4 + 0.6 * ridges)
    return x * (1 - covered) + send(color, x.device) * covered


def _fog(x: Tensor, draws: _Draws, density: float) -> Tensor:
    """Mix in a cloud of fractal noise, and keep the range."""
    return (x + density * (0.3 + 0.7 * _fractal(x, draws, 0.5))) / (1 + density)


def _brightness(x: Tensor, draws: _Draws, added: float) -> Tensor:
    """Add to the value of hue, saturation and value."""
    value = x.amax(1, keepdim=True)
    brighter = x * ((value + added).clamp_max(1) / value.clamp_min(1e-6))
    return torch.where(value > 0, brighter, added)


def _fractal(x: Tensor, draws: _Draws, decay: float) -> Tensor:
    """Sum bilinear noise of ever finer cells and less height; each image from 0 to 1, [B, 1, H, W].

    The cells of an edge are 2, 4, ... 32, the height of each is `decay` of the one before.
    """
    sizes = [2**power for power in range(1, 6)]
    fields = draws.normal(sum(size**2 for size in sizes)).split([s**2 for s in sizes], dim=1)  # type: ignore[no-untyped-call]
    total = torch.zeros_like(x[:, :1])
    for power, (size, field) in enumerate(zip(sizes, fields, strict=True)):
        total += decay**power * _resize(field.reshape(-1, 1, size, size), x)
    low, high = total.amin((1, 2, 3), keepdim=True), total.amax((1, 2, 3), keepdim=True)
    return (total - low) / (high - low)


def _resize(field: Tensor, x: Tensor) -> Tensor:
    return F.interpolate(field, size=x.shape[-2:], mode="bilinear", align_corners=False)


# Digital


def _contrast(x: Tensor, draws: _Draws, left: float) -> Tensor:
    """Draw each channel toward its mean."""
    mean = x.mean((2, 3), keepdim=True)
    return mean + left * (x - mean)


def _elastic(x: Tensor, draws: _Draws, sd: float) -> Tensor:
    """Move pixels by a smooth random field of this standard deviation."""
    height, width = x.shape[-2:]
    field = _smooth(draws.normal(2, height, width), 2.5 * _unit(x))
    field = field / field.std((2, 3), keepdim=True) * sd * _unit(x)
    rows = torch.arange(height, device=x.device)[:, None] + field[:, 0]
    columns = torch.arange(width, device=x.device) + field[:, 1]
    grid = torch.stack([(2 * columns + 1) / width - 1, (2 * rows + 1) / height - 1], dim=-1)
    return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def _pixelate(x: Tensor, draws: _Draws, share: float) -> Tensor:
    """Average over squares, so that this share of the edge's pixels would be enough."""
    rows, columns = (_square_matrix(edge, share, str(x.device)) for edge in x.shape[-2:])
    return rows @ x @ columns.T


@cache
def _square_matrix(edge: int, share: float, device: str) -> Tensor:
    """Average a line of pixels over equal stretches, which may cut pixels, [edge, edge]."""
    num, pixel = max(1, round(share * edge)), torch.arange(edge, device=device)
    start = (torch.arange(num, device=device) * edge / num)[:, None]
    inside = torch.minimum(start + edge / num, pixel + 1) - torch.maximum(start, pixel)
    inside = inside.clamp_min(0)  # [num, edge], in pixels
    return inside.T @ inside * (num / edge)


# Quantization tables of ITU-T T.81, annex K, at quality 50.
_LUMA = """
16 11 10 16  24  40  51  61   12 12 14 19  26  58  60  55
14 13 16 24  40  57  69  56   14 17 22 29  51  87  80  62
18 22 37 56  68 109 103  77   24 35 55 64  81 104 113  92
49 64 78 87 103 121 120 101   72 92 95 98 112 100 103  99
"""
_CHROMA = """
17 18 24 47 99 99 99 99   18 21 26 66 99 99 99 99
24 26 56 99 99 99 99 99   47 66 99 99 99 99 99 99
"""
_TO_YCC = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))


def _jpeg(x: Tensor, draws: _Draws, quality: float) -> Tensor:
    """Compress to baseline JPEG with chroma at half the size, and decompress."""
    height, width = x.shape[-2:]
    padded = F.pad(x, (0, -width % 16, 0, -height % 16), mode="replicate") * 255
    to_ycc = send(torch.tensor(_TO_YCC), x.device)
    ycc = torch.einsum("ij,bjhw->bihw", to_ycc, padded)
    luma = _quantize(ycc[:, :1] - 128, _LUMA, quality) + 128
    chroma = _quantize(F.avg_pool2d(ycc[:, 1:], 2), _CHROMA, quality)
    whole = F.interpolate(chroma, scale_factor=2.0, mode="bilinear", align_corners=False)
    decoded = torch.cat([luma, whole], dim=1)
    from_ycc = send(torch.tensor(_TO_YCC).inverse(), x.device)
    return torch.einsum("ij,bjhw->bihw", from_ycc, decoded)[..., :height, :width] / 255


def _quantize(planes: Tensor, table: str, quality: float) -> Tensor:
    """Round the cosine transform of every 8 x 8 block to multiples of a table's entries."""
    numbers = torch.tensor(list(map(int, table.split())) + [99] * 32)[:64].view(8, 8)
    percent = 5000 / quality if quality < 50 else 200 - 2 * quality
    step = ((numbers * percent + 50) / 100).floor().clamp(1, 255)
    height, width = planes.shape[-2:]
    steps = send(step.repeat(height // 8, width // 8), planes.device)
    rows, columns = (_cosine_matrix(edge, str(planes.device)) for edge in (height, width))
    rounded = (rows @ planes @ columns.T / steps).round() * steps
    return rows.T @ rounded @ columns


@cache
def _cosine_matrix(edge: int, device: str) -> Tensor:
    """Transform every 8 of a line of pixels, [edge, edge]: orthonormal blocks on the diagonal."""
    index = torch.arange(8, dtype=torch.float64)
    block = (math.pi / 8 * (index + 0.5) * index[:, None]).cos() / 2
    block[0] /= math.sqrt(2)
    return torch.kron(torch.eye(edge // 8), block.float()).to(device)


_Function = Callable[[Tensor, _Draws, Any], Tensor]
_SNOW = ((0.1, 2.3), (0.2, 2.1), (0.3, 1.9), (0.4, 1.7), (0.5, 1.5))  # whitened, least noise
_KINDS: dict[str, tuple[_Function, tuple[Any, ...]]] = {
    "gaussian-noise": (_gaussian_noise, (0.04, 0.06, 0.08, 0.09, 0.10)),  # sd
    "shot-noise": (_shot_noise, (500, 250, 100, 75, 50)),  # photons of a white pixel
    "impulse-noise": (_impulse_noise, (0.01, 0.02, 0.03, 0.05, 0.07)),  # share of values
    "defocus-blur": (_defocus_blur, (0.6, 0.9, 1.2, 1.6, 2.0)),  # radius
    "glass-blur": (_glass_blur, (0.3, 0.4, 0.5, 0.65, 0.8)),  # sd of the way to the pixel taken
    "motion-blur": (_motion_blur, (2, 3, 4, 5, 6)),  # length
    "zoom-blur": (_zoom_blur, (0.06, 0.11, 0.16, 0.21, 0.26)),  # largest magnification - 1
    "snow": (_snow, _SNOW),
    "frost": (_frost, (0.3, 0.4, 0.5, 0.6, 0.7)),  # share of ice where it is thickest
    "fog": (_fog, (0.25, 0.5, 0.8, 1.2, 1.8)),  # fog to image
    "brightness": (_brightness, (0.05, 0.10, 0.15, 0.20, 0.30)),  # added
    "contrast": (_contrast, (0.75, 0.55, 0.4, 0.3, 0.2)),  # share left
    "elastic": (_elastic, (0.5, 0.7, 0.9, 1.1, 1.4)),  # sd of the displacement
    "pixelate": (_pixelate, (0.85, 0.75, 0.65, 0.55, 0.45)),  # share of the pixels along an edge
    "jpeg": (_jpeg, (80, 65, 50, 38, 28)),  # quality
}
COMMON_CORRUPTIONS = tuple(_KINDS)
"""The kinds, in the order of CIFAR-10-C: noise, blur, weather, digital."""
