"""Random numbers for transforms: from a generator, or as a pure function of a `DrawKey`.

The keyed generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", SC 2011), written with int64 tensor operations so that it is vectorised over
samples and gives the same bits on every device.
"""

import math
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from softaug.checks import check_integers, describe, refuse, to_tensor

_LOW = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


class DrawKey(NamedTuple):
    """Names a draw, so that it is the same in any batch, worker, process and device.

    `index` is the sample's position in the data set: [B] integers for a batch, an int for
    one image. `stream` separates two transforms of one class, or two views of one image;
    transforms of different classes never share draws.
    """

    seed: int
    epoch: int
    index: Tensor | int  # type: ignore[assignment]  # hides tuple.index, which no one needs
    stream: int = 0


def philox(counter: tuple[Tensor, ...], key: tuple[int, int]) -> list[Tensor]:
    """Compute four independent 32-bit words (as int64 tensors) for each counter of four words.

    The counter's words broadcast; unexpanded they save the first rounds much work.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        # int64 products wrap, which leaves the 64 bits of the unsigned product.
        left, right = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        # A product stands for its low word: the next _mix drops the bits above.
        c0, c1, c2, c3 = _mix(right, c1, k0), right, _mix(left, c3, k1), left
        k0, k1 = (k0 + _KEY_STEPS[0]) & _LOW, (k1 + _KEY_STEPS[1]) & _LOW
    return [c0, c1 & _LOW, c2, c3 & _LOW]


def _mix(product: Tensor, word: Tensor, key: int) -> Tensor:
    """Return the high word of `product` ^ `word` ^ `key`; in place, in half the time of a field."""
    return ((product >> 32) ^ word).bitwise_xor_(key).bitwise_and_(_LOW)


def draw_uniforms(
    who: str,
    images: Tensor,
    num: int,
    purpose: int,
    generator: Generator | None,
    key: DrawKey | None,
) -> Tensor:
    """Draw float64 numbers in (0, 1), [B, num]; `purpose` is the transform's.

    Without generator or key they come from torch's global generator, as torchvision's do.
    They are on the device of `images`, or on the CPU where that has no float64.
    """
    if generator is not None and key is not None:
        refuse(who, "give a generator or a key, not both", "both")
    batch = len(images) if images.ndim == 4 else 1
    if key is not None:
        drawn = _keyed(who, key, images, batch, num, purpose)
    else:
        where = images.device if generator is None else generator.device
        widest = torch.float64 if has_float64(where) else torch.float32
        options: Any = {"device": where, "dtype": widest}
        if generator is not None:  # torch.compile cannot trace generator=None
            options["generator"] = generator
        drawn = torch.rand(batch, num, **options)
    home = images.device if has_float64(images.device) else torch.device("cpu")
    return send(drawn, home).double().clamp_min(2**-33)  # torch.rand may give 0


def _keyed(who: str, key: DrawKey, images: Tensor, batch: int, num: int, purpose: int) -> Tensor:
    index = _check_key(who, key, images, batch)
    if not has_float64(index.device):
        index = index.cpu()
    block = torch.arange(math.ceil(num / 4), device=index.device)  # four words a block
    counter = (
        block,
        (index & _LOW)[:, None],
        torch.full_like(block, key.epoch & _LOW),
        torch.full_like(block, (purpose << 16) + key.stream),
    )
    words = philox(counter, (key.seed & _LOW, (key.seed >> 32) & _LOW))
    flat = torch.stack(words, dim=-1).flatten(1)[:, :num]  # [B, num]
    return (flat.double() + 0.5) * 2**-32


def _check_key(who: str, key: DrawKey, images: Tensor, batch: int) -> Tensor:
    """Return the key's sample indices, [B]."""
    if not isinstance(key, DrawKey):
        refuse(who, "key must be a DrawKey", describe(key))
    for name in ("seed", "epoch", "stream"):
        if not isinstance(getattr(key, name), Integral):
            refuse(who, f"key.{name} must be a whole number", describe(getattr(key, name)))
    if not 0 <= key.stream < 2**16:
        refuse(who, "key.stream must be in 0..65535", key.stream)
    index = to_tensor(who, "key.index", key.index)
    check_integers(who, "key.index", index)
    if images.ndim == 3 and index.numel() == 1:
        index = index.reshape(1)
    if index.shape != (batch,):
        rule = f"key.index must hold one sample index for each of the {batch} images"
        refuse(who, rule, describe(key.index))
    return index.long()


def to_range(uniform: Tensor, low: float, high: float) -> Tensor:
    """Turn numbers even in (0, 1) into numbers even in (low, high)."""
    return low + (high - low) * uniform


def to_truncated_normal(uniform: Tensor, sd: float | Tensor, limit: float) -> Tensor:
    """Turn numbers even in (0, 1) into normal ones of mean 0 within (-limit, limit).

    By the inverse CDF: the same law as drawing again until it fits, from one number each.
    """
    scale = sd * math.sqrt(2)
    inside = limit / scale
    if torch.compiler.is_compiling() and not isinstance(inside, Tensor):
        inside = uniform.new_ones(()) * limit / scale  # an edge of any size cannot go to math.erf
    mass = torch.erf(inside) if isinstance(inside, Tensor) else math.erf(inside)
    return scale * torch.erfinv((2 * uniform - 1) * mass)


def draw_normal_field(seeds: Tensor, num: int) -> Tensor:
    """Draw standard normal numbers, [B, num] float32, a pure function of each 32-bit seed [B]."""
    block = torch.arange(math.ceil(num / 4), device=seeds.device)
    zero = torch.zeros_like(block)
    words = [w.float() * 2**-32 for w in philox((block, seeds[:, None], zero, zero), (0, 0))]
    parts = []
    for first, second in (words[:2], words[2:]):  # Box-Muller makes two numbers of two
        radius = torch.sqrt(-2 * torch.log(first.clamp_min(2**-33)))
        angle = 2 * math.pi * second
        parts += [radius * torch.cos(angle), radius * torch.sin(angle)]
    return torch.cat(parts, dim=1)[:, :num]


def has_float64(device: torch.device) -> bool:
    """Return whether a device has float64: Apple's GPUs do not."""
    return device.type != "mps"


def send(values: Tensor, device: torch.device) -> Tensor:
    """Move `values` to `device`, without waiting where that is safe: from the CPU to CUDA.

    To the CPU the copy would be read before it is done; on Apple's GPUs the source may be
    freed before it is read.
    """
    if values.is_floating_point() and not has_float64(device):
        values = values.float()
    return values.to(device, non_blocking=device.type == "cuda")
