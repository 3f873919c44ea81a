"""The 14 operations of RandAugment and TrivialAugment, with one strength for each image.

A strength is in [-1, 1]: 0 changes nothing, 1 is the widest range of TrivialAugment; its sign
gives a direction, where there are two. More strength never leaves more of the image.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from softaug.checks import check_choice, check_images, describe, eager_on_cpu, refuse
from softaug.pixels import Fill, check_fill, make_fill
from softaug.transforms import photometric
from softaug.transforms.affine import measure_visible, render_affine

Map = Callable[[Tensor, int, int], Tensor]
Change = Callable[[Tensor, Tensor], Tensor]

_WIDEST_SHEAR = 0.99
_WIDEST_TURN = math.radians(135)
_ALMOST = 1e-4  # a shift of 15.99999 pixels is one of 16, rounded
_ROUNDING = 1e-3  # by which a resized image may leave 0..1


@dataclass(frozen=True)
class Operation:
    """One of the operations: it moves pixels by a map, or changes their values, or neither."""

    name: str
    signed: bool = False  # the sign of its strength matters
    graded: bool = True  # it has a strength
    source: Map | None = None  # strength [B], height, width -> map to the source [B, 2, 3]
    change: Change | None = None  # images, strength [B] -> images

    @property
    def geometric(self) -> bool:
        """Whether part of the image can leave the frame."""
        return self.source is not None


def _shear_x(strength: Tensor, height: int, width: int) -> Tensor:
    slope = _WIDEST_SHEAR * strength  # from the top row, as torchvision does
    return _map(strength, b=slope, c=slope * (height / 2))


def _shear_y(strength: Tensor, height: int, width: int) -> Tensor:
    slope = _WIDEST_SHEAR * strength
    return _map(strength, d=slope, f=slope * (width / 2))


def _translate_x(strength: Tensor, height: int, width: int) -> Tensor:
    return _map(strength, c=-_whole_pixels(strength, width))


def _translate_y(strength: Tensor, height: int, width: int) -> Tensor:
    return _map(strength, f=-_whole_pixels(strength, height))


def _rotate(strength: Tensor, height: int, width: int) -> Tensor:
    angle = _WIDEST_TURN * strength
    cos, sin = angle.cos(), angle.sin()
    return _map(strength, a=cos, b=-sin, d=sin, e=cos)


def _whole_pixels(strength: Tensor, edge: int) -> Tensor:
    """The share `strength` of an edge, toward zero."""
    return strength.sign() * (strength.abs() * edge + _ALMOST).floor()


def _map(like: Tensor, **entries: Tensor) -> Tensor:
    """The map x' = a x + b y + c, y' = d x + e y + f; what is not given changes nothing."""
    same, none = torch.ones_like(like), torch.zeros_like(like)
    rows = {"a": same, "b": none, "c": none, "d": none, "e": same, "f": none, **entries}
    return torch.stack([rows[name] for name in "abcdef"], dim=-1).view(-1, 2, 3)


_ALL = (
    Operation("identity", graded=False),
    Operation("shear-x", signed=True, source=_shear_x),
    Operation("shear-y", signed=True, source=_shear_y),
    Operation("translate-x", signed=True, source=_translate_x),
    Operation("translate-y", signed=True, source=_translate_y),
    Operation("rotate", signed=True, source=_rotate),
    Operation("brightness", signed=True, change=photometric.brightness),
    Operation("color", signed=True, change=photometric.color),
    Operation("contrast", signed=True, change=photometric.contrast),
    Operation("sharpness", signed=True, change=photometric.sharpness),
    Operation("posterize", change=photometric.posterize),
    Operation("solarize", change=photometric.solarize),
    Operation("autocontrast", graded=False, change=photometric.autocontrast),
    Operation("equalize", graded=False, change=photometric.equalize),
)
OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ALL}


def apply_operation(name: str, images: Tensor, strength: Tensor, fill: Fill = 0) -> Tensor:
    """Apply one operation to the images [B, C, H, W], each with its own strength [B].

    `fill` is put where there is no image: a number, one per channel, or "mean".
    """
    check_choice("apply_operation", "name", name, tuple(OPERATIONS))
    check_operable("apply_operation", images, strength)
    check_fill("apply_operation", fill)
    operation = OPERATIONS[name]
    if operation.source is not None:
        maps = operation.source(strength, images.shape[-2], images.shape[-1])
        return render_affine(images, maps, make_fill("apply_operation", fill, images))
    return images if operation.change is None else operation.change(images, strength)


def measure_in_frame(name: str, strength: Tensor, height: int, width: int) -> Tensor:
    """Measure the exact share of the image's area that the operation leaves in frame, [B]."""
    check_choice("measure_in_frame", "name", name, tuple(OPERATIONS))
    source = OPERATIONS[name].source
    if source is None:
        return torch.ones_like(strength)
    return measure_visible(source(strength, height, width), height, width)


def check_operable(who: str, images: Tensor, strength: Tensor) -> None:
    """Refuse images that are no batch, have neither 1 nor 3 channels, or other strengths.

    And floats outside 0..1, where reading them costs nothing.
    """
    check_images(who, images)
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        rule = "images must be [B, C, H, W] with 1 or 3 channels"
        refuse(who, rule, describe(images), "grey values need red, green and blue")
    if strength.shape != images.shape[:1] or not strength.is_floating_point():
        rule = f"strength must be one number for each of the {len(images)} images"
        refuse(who, rule, describe(strength))
    if not images.is_floating_point() or not eager_on_cpu(images):
        return
    # Operations clamp to 0..1, which ruins normalized images.
    low, high = (float(end) for end in images.detach().aminmax())
    if not (low >= -_ROUNDING and high <= 1 + _ROUNDING):  # also where one is NaN
        remedy = "put it before normalising"
        refuse(who, "float images must be in 0..1", f"{low:.3g} to {high:.3g}", remedy)


Part = Callable[..., Tensor]  # values of some images, each [b, ...] -> their new images


def apply_where(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """`out` with the chosen images [B] replaced by what `part` makes of theirs in `batch`.

    On the CPU only these are computed, and `out` is changed; elsewhere and under
    `torch.compile`, where reading what is chosen would cost a wait, all are.
    """
    if not eager_on_cpu(out):
        return torch.where(chosen.view(-1, 1, 1, 1), part(*batch), out)
    rows = chosen.nonzero().squeeze(1)
    if len(rows) == 0:
        return out
    return out.index_copy_(0, rows, part(*(values.index_select(0, rows) for values in batch)))


_MOVING = {i: o.source for i, o in enumerate(OPERATIONS.values()) if o.source is not None}
_CHANGING = {i: o.change for i, o in enumerate(OPERATIONS.values()) if o.change is not None}


def apply_each(who: str, images: Tensor, operation: Tensor, strength: Tensor, fill: Fill) -> Tensor:
    """The images [B, C, H, W], each after its own operation [B] of its own strength [B]."""
    check_operable(who, images, strength)

    def move(some: Tensor, operation: Tensor, strength: Tensor) -> Tensor:
        maps = source_maps(operation, strength, images.shape[-2], images.shape[-1])
        return render_affine(some, maps, make_fill(who, fill, some))

    moving = torch.zeros_like(operation, dtype=torch.bool)
    for index in _MOVING:
        moving = moving | (operation == index)
    out = apply_where(images.clone(), moving, move, images, operation, strength)
    for index, change in _CHANGING.items():
        out = apply_where(out, operation == index, change, images, strength)
    return out


def measure_visible_each(operation: Tensor, strength: Tensor, height: int, width: int) -> Tensor:
    """Measure what each operation leaves in the frame, [B]: 1 for those that move nothing."""
    return measure_visible(source_maps(operation, strength, height, width), height, width)


def source_maps(operation: Tensor, strength: Tensor, height: int, width: int) -> Tensor:
    """Return the map to the source of each image's operation, [B, 2, 3]; identity for most."""
    maps = torch.eye(2, 3, dtype=strength.dtype, device=strength.device).expand(len(strength), 2, 3)
    for index, source in _MOVING.items():
        chosen = (operation == index).view(-1, 1, 1)
        maps = torch.where(chosen, source(strength, height, width), maps)
    return maps
