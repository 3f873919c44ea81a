"""What two-view learning puts on a backbone."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from softaug.checks import check_whole


def perceptron(widths: Sequence[int], last_bias: bool = False) -> list[nn.Module]:
    """Linear layers from width to width, with BatchNorm and ReLU between them.

    A layer that BatchNorm follows has no bias: it would take it off again.
    """
    layers: list[nn.Module] = []
    *inner, (inputs, outputs) = pairwise(widths)
    for before, after in inner:
        layers += [nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU()]
    return [*layers, nn.Linear(inputs, outputs, bias=last_bias)]


def check_widths(who: str, **widths: int) -> None:
    """Refuse a width that is no whole number of at least 1."""
    for name, width in widths.items():
        check_whole(who, name, width, least=1)
