"""One k for each class: which of them each sample has (Eq. 11)."""

import torch
from torch import Tensor

from softaug.checks import eager_on_cpu, refuse
from softaug.draws import send


def own_k(who: str, powers: tuple[float, ...], label: Tensor | int, like: Tensor) -> Tensor:
    """The k of each sample's class, [B], in the type and on the device of `like`.

    >>> own_k("docs", (1.5, 2.0, 2.5), torch.tensor([2, 0]), like=torch.ones(2))
    tensor([2.5000, 1.5000])
    """
    labels = torch.as_tensor(label).reshape(-1).long()
    if eager_on_cpu(labels):
        _check_known(who, labels, len(powers))
    table = send(torch.tensor(powers, dtype=like.dtype), like.device)
    return table[send(labels, like.device)]


def _check_known(who: str, labels: Tensor, num_classes: int) -> None:
    outside = (labels < 0) | (labels >= num_classes)
    if bool(outside.any()):
        rule = f"k is for {num_classes} classes, so labels must be in 0..{num_classes - 1}"
        refuse(who, rule, int(labels[outside][0]), "give one k for each class")
