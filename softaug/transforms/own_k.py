"""One k for each class: which of them each sample has (Eq. 11)."""

import torch
from torch import Tensor

from softaug.checks import check_inside
from softaug.draws import send


def own_k(who: str, powers: tuple[float, ...], label: Tensor | int, like: Tensor) -> Tensor:
    """The k of each sample's class, [B], in the type and on the device of `like`.

    >>> own_k("docs", (1.5, 2.0, 2.5), torch.tensor([2, 0]), like=torch.ones(2))
    tensor([2.5000, 1.5000])
    """
    labels = torch.as_tensor(label).reshape(-1).long()
    rule = f"k is for {len(powers)} classes, so labels must be in 0..{len(powers) - 1}"
    check_inside(who, rule, labels, len(powers), "give one k for each class")
    table = send(torch.tensor(powers, dtype=like.dtype), like.device)
    return table[send(labels, like.device)]
