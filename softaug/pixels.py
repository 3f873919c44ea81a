"""Operations on pixels that transforms and corruptions share: fill, shift, erase, add noise."""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from softaug.checks import LARGEST, describe, is_real, refuse
from softaug.draws import draw_normal_field, send

Fill = float | Sequence[float] | str


def check_fill(who: str, fill: Any) -> Fill:
    """Return `fill` if it is a number, one number per channel, or "mean"."""
    if isinstance(fill, str) and fill == "mean":
        return fill
    listed = isinstance(fill, Sequence) and not isinstance(fill, str)
    numbers = tuple(fill) if listed else (fill,)
    if not numbers or not all(
        is_real(number) and -LARGEST <= number <= LARGEST for number in numbers
    ):
        refuse(who, 'fill must be a finite number, one per channel, or "mean"', describe(fill))
    return numbers if listed else numbers[0]


def make_fill(who: str, fill: Fill, images: Tensor) -> Tensor:
    """Return the fill for each image and channel, [B or 1, C or 1, 1, 1], in the images' type."""
    if fill == "mean":
        means = images.to(torch.promote_types(images.dtype, torch.float32)).mean(
            dim=(-2, -1), keepdim=True
        )
        return (means.round() if images.dtype == torch.uint8 else means).to(images.dtype)
    numbers: tuple[Any, ...] = fill if isinstance(fill, tuple) else (fill,)
    channels = images.shape[1]
    if len(numbers) not in (1, channels):
        refuse(who, f"fill must be one number or {channels}, one per channel", list(numbers))
    whole = all(0 <= number <= 255 and number == int(number) for number in numbers)
    if images.dtype == torch.uint8 and not whole:
        refuse(who, "fill of uint8 images must be whole numbers in 0..255", list(numbers))
    values = torch.tensor(numbers).to(images.dtype).view(1, -1, 1, 1)
    return send(values, images.device)  # torch.tensor(device=...) would wait for the device


def shift(images: Tensor, dx: Tensor, dy: Tensor, fill: Tensor) -> Tensor:
    """out[b, :, y, x] = images[b, :, y + dy[b], x + dx[b]], or `fill` outside the image.

    Each channel becomes a strip "fill row fill row ... fill"; a shifted row is then one
    window of the strip, wherever it starts, so that one `index_select` of whole rows does
    every sample's crop (about the cost of converting the batch to float32).
    """
    batch, channels, height, width = images.shape
    length = (2 * height + 1) * width
    strips = fill.squeeze(-1).expand(batch, channels, length).contiguous()
    strips[..., width:].view(batch, channels, height, 2, width)[..., 0, :] = images
    source = torch.arange(height, device=images.device) + dy[:, None]  # [B, H]
    outside = (source < 0) | (source >= height)
    across = dx.clamp(-width, width)[:, None]  # further would reach the next row
    start = (width + source * 2 * width + across).masked_fill(outside, 0)
    if images.requires_grad:  # the gradient of overlapping windows takes W times the memory
        pixels = (start[..., None] + torch.arange(width, device=images.device)).flatten(1)
        return strips.gather(2, pixels[:, None].expand(-1, channels, -1)).view(images.shape)
    channel = torch.arange(batch * channels, device=images.device).view(batch, channels, 1)
    windows = strips.as_strided((strips.numel() - width + 1, width), (1, 1))
    rows = windows.index_select(0, (channel * length + start[:, None]).flatten())
    return rows.view(images.shape)


def erase(
    images: Tensor,
    top: Tensor,
    left: Tensor,
    height: Tensor | int,
    width: Tensor | int,
    fill: Tensor,
) -> Tensor:
    """Fill a rectangle of each image [B, C, H, W]; its corner is [B], as are its sides or alike."""
    rows = _find_inside(images.shape[-2], top, height)  # [B, H]
    columns = _find_inside(images.shape[-1], left, width)  # [B, W]
    erased = rows[:, None, :, None] & columns[:, None, None, :]  # [B, 1, H, W]
    return torch.where(erased, fill, images)


def _find_inside(edge: int, start: Tensor, length: Tensor | int) -> Tensor:
    """Tell which pixels along an edge lie in each sample's interval, [B, edge]."""
    position = torch.arange(edge, device=start.device)
    return (position >= start[:, None]) & (position < (start + length)[:, None])


def add_normal_noise(images: Tensor, sd: float, alpha: Tensor, field: Tensor) -> Tensor:
    """Add `alpha` [B] times normal noise of `sd` full ranges, a function of its `field` [B].

    The full range is 255 for uint8, where the result is rounded and clamped, else 1.
    """
    full_range = 255.0 if images.dtype == torch.uint8 else 1.0
    size = (full_range * sd * alpha).float().view(-1, 1, 1, 1)
    noise = draw_normal_field(field, images[0].numel()).view(images.shape)
    noisy = noise.mul_(size).add(images)
    if images.dtype == torch.uint8:
        noisy = noisy.round_().clamp_(0, 255)
    return noisy.to(images.dtype)


def wrap_like(out: Tensor, images: Tensor) -> Tensor:
    """Return `out` as the kind of tensor that `images` are: torchvision's images stay such."""
    if not is_tv_tensor(images):
        return out
    wrapped: Tensor = get_tv_tensors().wrap(out, like=images)
    return wrapped


def is_tv_tensor(value: Any) -> bool:
    """Tell whether it is a tensor of torchvision's that says what it holds."""
    if type(value) is Tensor or not isinstance(value, Tensor):  # compiled code stops here
        return False
    return get_tv_tensors() is not None and isinstance(value, get_tv_tensors().TVTensor)


def get_tv_tensors() -> Any:
    """Return torchvision.tv_tensors, or None where nobody imported it: no tensor is one then.

    Importing it would take half of the time of `import softaug`.
    """
    return sys.modules.get("torchvision.tv_tensors")
