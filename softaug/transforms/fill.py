"""What is put where there is no image."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from softaug.checks import describe, refuse
from softaug.draws import send

Fill = float | Sequence[float] | str


def check_fill(who: str, fill: Any) -> Fill:
    """Return `fill` if it is a number, one number per channel, or "mean"."""
    if _is_number(fill) or (isinstance(fill, str) and fill == "mean"):
        return fill  # type: ignore[no-any-return]
    listed = isinstance(fill, Sequence) and not isinstance(fill, str) and len(fill) > 0
    if not listed or not all(map(_is_number, fill)):
        refuse(who, 'fill must be a number, one per channel, or "mean"', describe(fill))
    return tuple(fill)


def fill_values(who: str, fill: Fill, images: Tensor) -> Tensor:
    """The fill for each image and channel, [B or 1, C or 1, 1, 1], in the images' type."""
    if fill == "mean":
        wide = images.float() if images.dtype != torch.float64 else images
        means = wide.mean(dim=(-2, -1), keepdim=True)
        return (means.round() if images.dtype == torch.uint8 else means).to(images.dtype)
    numbers = fill if isinstance(fill, tuple) else (fill,)
    _check_fits(who, numbers, images)
    values = torch.tensor(numbers).to(images.dtype).view(1, -1, 1, 1)
    return send(values, images.device)  # torch.tensor(device=...) would wait for the device


def _check_fits(who: str, numbers: Sequence[Any], images: Tensor) -> None:
    channels = images.shape[1]
    if len(numbers) not in (1, channels):
        refuse(who, f"fill must be one number or {channels}, one per channel", list(numbers))
    whole = all(0 <= number <= 255 and number == int(number) for number in numbers)
    if images.dtype == torch.uint8 and not whole:
        refuse(who, "fill of uint8 images must be whole numbers in 0..255", list(numbers))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value
