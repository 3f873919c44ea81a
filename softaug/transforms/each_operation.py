"""A batch in which every image has an operation of its own; `operation` counts `OPERATIONS`."""

from collections.abc import Callable

import torch
from torch import Tensor

from softaug.checks import eager_on_cpu
from softaug.transforms.affine_map import render, share_in_frame
from softaug.transforms.fill import Fill, fill_values
from softaug.transforms.operations import OPERATIONS, Change, check_operable

_MOVING = {i: o.source for i, o in enumerate(OPERATIONS.values()) if o.source is not None}
_CHANGING = {i: o.change for i, o in enumerate(OPERATIONS.values()) if o.change is not None}


def apply_each(who: str, images: Tensor, operation: Tensor, strength: Tensor, fill: Fill) -> Tensor:
    """The images [B, C, H, W], each after its own operation [B] of its own strength [B]."""
    check_operable(who, images, strength)

    def move(some: Tensor, operation: Tensor, strength: Tensor) -> Tensor:
        maps = source_maps(operation, strength, images.shape[-2], images.shape[-1])
        return render(some, maps, fill_values(who, fill, some))

    put = _put_rows if eager_on_cpu(images) else _put_masked
    moving = torch.zeros_like(operation, dtype=torch.bool)
    for index in _MOVING:
        moving = moving | (operation == index)
    out = put(images.clone(), moving, move, images, operation, strength)
    for index, change in _CHANGING.items():
        out = put(out, operation == index, _only_strength(change), images, operation, strength)
    return out


def shares_in_frame(operation: Tensor, strength: Tensor, height: int, width: int) -> Tensor:
    """What each operation leaves in the frame, [B]: 1 for those that move nothing."""
    return share_in_frame(source_maps(operation, strength, height, width), height, width)


def source_maps(operation: Tensor, strength: Tensor, height: int, width: int) -> Tensor:
    """The map to the source of each image's operation, [B, 2, 3]; identity for most."""
    maps = torch.eye(2, 3, dtype=strength.dtype, device=strength.device).expand(len(strength), 2, 3)
    for index, source in _MOVING.items():
        chosen = (operation == index).view(-1, 1, 1)
        maps = torch.where(chosen, source(strength, height, width), maps)
    return maps


Part = Callable[[Tensor, Tensor, Tensor], Tensor]


def _only_strength(change: Change) -> Part:
    return lambda images, operation, strength: change(images, strength)


def _put_rows(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """`out` with the chosen images changed: only these are computed."""
    rows = chosen.nonzero().squeeze(1)
    if len(rows) == 0:
        return out
    return out.index_copy_(0, rows, part(*(values.index_select(0, rows) for values in batch)))


def _put_masked(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """The same without reading what is chosen: all images are computed."""
    return torch.where(chosen.view(-1, 1, 1, 1), part(*batch), out)
