"""Changing some images of a batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from softaug.checks import eager_on_cpu

Part = Callable[..., Tensor]  # values of some images, each [b, ...] -> their new images


def put_chosen(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """`out` with the chosen images [B] replaced by what `part` makes of theirs in `batch`.

    On the CPU only these are computed, and `out` is changed; elsewhere and under
    `torch.compile`, where reading what is chosen would cost a wait, all are.
    """
    put = _put_rows if eager_on_cpu(out) else _put_masked
    return put(out, chosen, part, *batch)


def _put_rows(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """`out` with the chosen images changed: only these are computed."""
    rows = chosen.nonzero().squeeze(1)
    if len(rows) == 0:
        return out
    return out.index_copy_(0, rows, part(*(values.index_select(0, rows) for values in batch)))


def _put_masked(out: Tensor, chosen: Tensor, part: Part, *batch: Tensor) -> Tensor:
    """The same without reading what is chosen: all images are computed."""
    return torch.where(chosen.view(-1, 1, 1, 1), part(*batch), out)
