"""The 14 operations of RandAugment and TrivialAugment, with one strength for each image.

A strength is in [-1, 1]: 0 changes nothing, 1 is the widest range of TrivialAugment; its sign
gives a direction, where there are two. More strength never leaves more of the image.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_choice, check_images, describe, eager_on_cpu, refuse
from softaug.pixels import Fill, check_fill, make_fill
from softaug.transforms import photometric
from softaug.transforms.affine import measure_visible, render_affine

Change = Callable[[Tensor, Tensor], Tensor]  # images, strength [B] -> images

_WIDEST_FACTOR = 0.99  # brightness, color, contrast and sharpness have factors of 1 +- this
_WIDEST_SHEAR = 0.99
_WIDEST_TURN = math.radians(135)
_ALMOST = 1e-4  # a shift of 15.99999 pixels is one of 16, rounded
_ROUNDING = 1e-3  # by which a resized image may leave 0..1


class Operation(NamedTuple):
    """One of the operations: it moves pixels, or changes their values, or neither."""

    rand_widest: float = 1.0  # RandAugment's range; a whole edge is the unit of shifts
    signed: bool = False  # the sign of its strength matters
    graded: bool = True  # it has a strength
    geometric: bool = False  # part of the image can leave the frame
    change: Change | None = None


def _adjust_by(adjust: Change) -> Operation:
    def change(images: Tensor, strength: Tensor) -> Tensor:
        return adjust(images, 1 + _WIDEST_FACTOR * strength)

    return Operation(0.9 / 0.99, signed=True, change=change)


def _move_by(rand_widest: float) -> Operation:
    return Operation(rand_widest, signed=True, geometric=True)


OPERATIONS: dict[str, Operation] = {
    "identity": Operation(graded=False),
    "shear-x": _move_by(0.3 / 0.99),
    "shear-y": _move_by(0.3 / 0.99),
    "translate-x": _move_by(150 / 331),
    "translate-y": _move_by(150 / 331),
    "rotate": _move_by(30 / 135),
    "brightness": _adjust_by(photometric.adjust_brightness),
    "color": _adjust_by(photometric.adjust_saturation),
    "contrast": _adjust_by(photometric.adjust_contrast),
    "sharpness": _adjust_by(photometric.adjust_sharpness),
    "posterize": Operation(4 / 6, change=photometric.posterize),
    "solarize": Operation(change=photometric.solarize),
    "autocontrast": Operation(graded=False, change=photometric.autocontrast),
    "equalize": Operation(graded=False, change=photometric.equalize),
}
_NAMES = tuple(OPERATIONS)


def apply_operation(name: str, images: Tensor, strength: Tensor, fill: Fill = 0) -> Tensor:
    """Apply one operation to the images [B, C, H, W], each with its own strength [B].

    `fill` is put where there is no image: a number, one per channel, or "mean".
    """
    who, operation = "apply_operation", _fill_with(name, strength)
    check_operable(who, images, strength)
    check_fill(who, fill)
    if OPERATIONS[name].geometric:
        return _move(who, images, operation, strength, fill)
    change = OPERATIONS[name].change
    return images if change is None else change(images, strength)


def measure_in_frame(name: str, strength: Tensor, height: int, width: int) -> Tensor:
    """Measure the exact share of the image's area that the operation leaves in frame, [B]."""
    maps = build_maps(_fill_with(name, strength), strength, height, width)
    return measure_visible(maps, height, width)


def _fill_with(name: str, strength: Tensor) -> Tensor:
    """Return the number of the operation of this name, [B]."""
    check_choice("operations", "name", name, _NAMES)
    return torch.full_like(strength, _NAMES.index(name), dtype=torch.int64)


def apply_each(who: str, images: Tensor, operation: Tensor, strength: Tensor, fill: Fill) -> Tensor:
    """Apply to each image [B, C, H, W] its own operation [B] with its own strength [B]."""
    check_operable(who, images, strength)
    moving = torch.zeros_like(operation, dtype=torch.bool)
    for index, each in enumerate(OPERATIONS.values()):
        if each.geometric:
            moving = moving | (operation == index)
    move = partial(_move, who, fill=fill)
    out = apply_where(images.clone(), moving, move, images, operation, strength)
    for index, each in enumerate(OPERATIONS.values()):
        if each.change is not None:
            out = apply_where(out, operation == index, each.change, images, strength)
    return out


def _move(who: str, images: Tensor, operation: Tensor, strength: Tensor, fill: Fill) -> Tensor:
    maps = build_maps(operation, strength, images.shape[-2], images.shape[-1])
    return render_affine(images, maps, make_fill(who, fill, images))


def build_maps(operation: Tensor, strength: Tensor, height: int, width: int) -> Tensor:
    """Return the map to the source of each image's operation, [B, 2, 3]; identity for most.

    A map is the rows of x' = a x + b y + c, y' = d x + e y + f.
    """
    slope, angle = _WIDEST_SHEAR * strength, _WIDEST_TURN * strength
    cos, sin = angle.cos(), angle.sin()
    right, down = (  # whole pixels, toward zero
        strength.sign() * (strength.abs() * edge + _ALMOST).floor() for edge in (width, height)
    )
    one, zero = torch.ones_like(strength), torch.zeros_like(strength)
    rows = {
        # from the top row and the left column, as torchvision does
        "shear-x": (one, slope, slope * (height / 2), zero, one, zero),
        "shear-y": (one, zero, zero, slope, one, slope * (width / 2)),
        "translate-x": (one, zero, -right, zero, one, zero),
        "translate-y": (one, zero, zero, zero, one, -down),
        "rotate": (cos, -sin, zero, sin, cos, zero),
    }
    maps = torch.stack([one, zero, zero, zero, one, zero], dim=-1)
    for name, row in rows.items():
        chosen = (operation == _NAMES.index(name)).unsqueeze(-1)
        maps = torch.where(chosen, torch.stack(row, dim=-1), maps)
    return maps.view(-1, 2, 3)


def check_operable(who: str, images: Tensor, strength: Tensor) -> None:
    """Refuse images that are no batch, have neither 1 nor 3 channels, or other strengths.

    And floats outside 0..1, where reading them costs nothing.
    """
    check_images(who, images)
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        rule = "images must be [B, C, H, W] with 1 or 3 channels"
        refuse(who, rule, describe(images), "gray values need red, green and blue")
    if strength.shape != images.shape[:1] or not strength.is_floating_point():
        rule = f"strength must be one number for each of the {len(images)} images"
        refuse(who, rule, describe(strength))
    if not images.is_floating_point() or not eager_on_cpu(images):
        return
    # Operations clamp to 0..1, which ruins normalized images.
    low, high = (float(end) for end in images.detach().aminmax())
    if not (low >= -_ROUNDING and high <= 1 + _ROUNDING):  # also where one is NaN
        remedy = "put it before normalizing"
        refuse(who, "float images must be in 0..1", f"{low:.3g} to {high:.3g}", remedy)


Part = Callable[..., Tensor]  # values of some images, each [b, ...] -> their new images


def apply_where(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """Replace the chosen images [B] of `out` by what `part` makes of theirs in `batch`.

    On the CPU only these are computed, and `out` is changed; elsewhere and under
    `torch.compile`, where reading what is chosen would cost a wait, all are.
    """
    if not eager_on_cpu(out):
        return torch.where(chosen.view(-1, 1, 1, 1), part(*batch), out)
    rows = chosen.nonzero().squeeze(1)
    if len(rows) == 0:
        return out
    return out.index_copy_(0, rows, part(*(values.index_select(0, rows) for values in batch)))
