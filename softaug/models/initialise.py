"""How the weights of our own networks begin."""

from torch import nn


def initialise(module: nn.Module) -> None:
    """He's normal initialisation for convolutions; all else begins as torch has it."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
