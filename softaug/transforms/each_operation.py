"""A batch in which every image has an operation of its own; `operation` counts `OPERATIONS`."""

import torch
from torch import Tensor

from softaug.transforms.affine_map import render, share_in_frame
from softaug.transforms.chosen import Part, put_chosen
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

    moving = torch.zeros_like(operation, dtype=torch.bool)
    for index in _MOVING:
        moving = moving | (operation == index)
    out = put_chosen(images.clone(), moving, move, images, operation, strength)
    for index, change in _CHANGING.items():
        out = put_chosen(
            out, operation == index, _only_strength(change), images, operation, strength
        )
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


def _only_strength(change: Change) -> Part:
    return lambda images, operation, strength: change(images, strength)
