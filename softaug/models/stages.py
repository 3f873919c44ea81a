"""Where the stages of a residual network end."""

from torch import nn
from torchvision.models import ResNet as TorchvisionResNet

from softaug.checks import refuse
from softaug.models.pyramidnet import PyramidNet
from softaug.models.resnet import ResNet
from softaug.models.wide_resnet import WideResNet


def stages(model: nn.Module) -> tuple[str, ...]:
    """Name of the last layer of each stage: the blocks at one image size.

    For this package's residual networks and torchvision's, also within another module.

    >>> from softaug.models import create
    >>> stages(create("resnet20", num_classes=10))
    ('blocks.2', 'blocks.5', 'blocks.8')
    """
    known = (ResNet, WideResNet, PyramidNet, TorchvisionResNet)
    found = [(name, part) for name, part in model.named_modules() if isinstance(part, known)]
    if not found:
        rule = "the stages of softaug's residual networks and torchvision's ResNets are known"
        refuse("stages", rule, type(model).__name__, "name layers of it, see model.named_modules()")
    name, network = found[0]
    return tuple(f"{name}.{layer}".lstrip(".") for layer in _layers(network))


def _layers(network: nn.Module) -> list[str]:
    if isinstance(network, TorchvisionResNet):
        return [f"layer{stage}" for stage in range(1, 5)]
    assert isinstance(network.blocks, nn.Sequential)
    return [f"blocks.{end}" for end in _ends(network.blocks)]


def _ends(blocks: nn.Sequential) -> list[int]:
    """Places of the blocks before which the image is halved next, and of the last."""
    halving = [place for place, block in enumerate(blocks) if _halves(block)]
    return [*(place - 1 for place in halving if place > 0), len(blocks) - 1]


def _halves(block: nn.Module) -> bool:
    return any(isinstance(part, nn.Conv2d) and part.stride != (1, 1) for part in block.modules())
