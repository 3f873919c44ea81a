"""Manifold Mixup: the mix happens at a layer of the network, drawn for each batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torchvision.models import ResNet as TorchvisionResNet

from softaug.checks import check_positive, describe, nearest, refuse
from softaug.draws import DrawKey
from softaug.lab.models.pyramidnet import PyramidNet
from softaug.lab.models.resnet import ResNet, WideResNet
from softaug.label import MixedLabel, SoftLabel, mix_labels
from softaug.mixing import draw_pairs, mix_values, take

WHO = "ManifoldMixup"
INPUT = "input"


def find_stages(model: nn.Module) -> tuple[str, ...]:
    """Name the last layer of each stage: the blocks at one image size.

    For this package's residual networks and torchvision's, also within another module.

    >>> from softaug.lab.models import create
    >>> find_stages(create("resnet20", num_classes=10))
    ('blocks.2', 'blocks.5', 'blocks.8')
    """
    supported = (ResNet, WideResNet, PyramidNet, TorchvisionResNet)
    networks = [(name, part) for name, part in model.named_modules() if isinstance(part, supported)]
    if not networks:
        rule = "the model must be a residual network of softaug or a ResNet of torchvision"
        remedy = "name layers of it, see model.named_modules()"
        refuse("find_stages", rule, type(model).__name__, remedy)
    name, network = networks[0]
    if isinstance(network, TorchvisionResNet):
        layers = [f"layer{stage}" for stage in range(1, 5)]
    else:
        assert isinstance(network.blocks, nn.Sequential)
        halves = [
            any(isinstance(part, nn.Conv2d) and part.stride != (1, 1) for part in block.modules())
            for block in network.blocks
        ]
        layers = [f"blocks.{index}" for index, ends in enumerate([*halves[1:], True]) if ends]
    return tuple(f"{name}.{layer}".lstrip(".") for layer in layers)


def default_layers(model: nn.Module) -> tuple[str, ...]:
    """Name where the paper mixes in residual networks: the input and the first two stages."""
    return (INPUT, *find_stages(model)[:2])


class ManifoldParams(NamedTuple):
    """The partner of each sample, its own share, and the layer."""

    partner: Tensor  # [B] int64, an index in the batch
    share: Tensor  # [B] float32
    layer: str


class ManifoldMixup:
    """Mix the outputs of one layer, drawn uniformly from `layers` (Verma et al. 2019).

    layers: names of submodules of `model`, whose outputs are [B, ...]; "input" is the images.
        None takes the paper's for residual networks: input and the first two stages.

    Within `mixing`, the model mixes in its one forward pass; elsewhere it is unchanged. Under
    several processes each mixes its own samples; the model may be wrapped in
    DistributedDataParallel. A compiled model is refused, since it would skip the mix.

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> manifold = ManifoldMixup(model, layers=["input", "1"])
    >>> images, labels = torch.rand(5, 3, 2, 2), torch.tensor([0, 1, 2, 0, 1])
    >>> with manifold.mixing(len(images)) as params:
    ...     logits = model(images)
    >>> label = manifold.report(labels, params)  # for SoftLoss
    """

    purpose = 34  # after those of softaug.mixing

    def __init__(
        self, model: nn.Module, layers: Sequence[str] | None = None, alpha: float = 1.0
    ) -> None:
        network: nn.Module = model.module if isinstance(model, DistributedDataParallel) else model
        self.model = network
        self.layers = default_layers(network) if layers is None else _check_layers(network, layers)
        self.alpha = check_positive(WHO, "alpha", alpha)

    @contextmanager
    def mixing(
        self, num: int, *, generator: Generator | None = None, key: DrawKey | None = None
    ) -> Iterator[ManifoldParams]:
        """Mix in the forward pass of `num` samples that is called within; yield what was drawn."""
        params = self.draw(num, generator=generator, key=key)
        runs = 0

        def mix(values: Any) -> Tensor:
            nonlocal runs
            runs += 1
            if not isinstance(values, Tensor) or values.shape[:1] != (num,):
                rule = f"layer {params.layer!r} must give a tensor with {num} rows, one a sample"
                refuse(WHO, rule, describe(values))
            return mix_values(values, take(values, params.partner), params.share)

        if params.layer == INPUT:
            handle = self.model.register_forward_pre_hook(
                lambda module, inputs: (mix(inputs[0] if inputs else None), *inputs[1:])
            )
        else:
            layer = self.model.get_submodule(params.layer)
            handle = layer.register_forward_hook(lambda module, inputs, output: mix(output))
        try:
            yield params
        finally:
            handle.remove()
        if runs != 1:
            rule = f"layer {params.layer!r} must run once within mixing()"
            remedy = "call the model in it, once; compiled models skip layers' hooks"
            refuse(WHO, rule, f"{runs} runs", remedy)

    def draw(
        self, num: int, *, generator: Generator | None = None, key: DrawKey | None = None
    ) -> ManifoldParams:
        """Draw parameters for `num` samples, on the CPU; `key` has the step as its index."""
        drawn = draw_pairs(WHO, num, self.alpha, self.purpose, generator, key)
        layer = self.layers[int(drawn.spare[0] * len(self.layers))]
        return ManifoldParams(drawn.partner, torch.full((num,), drawn.share), layer)

    def report(self, labels: Tensor | SoftLabel, params: ManifoldParams) -> MixedLabel:
        """Return the labels of the batch, each with its partner's."""
        return mix_labels(labels, take(labels, params.partner), params.share)


def _check_layers(model: nn.Module, layers: Sequence[str]) -> tuple[str, ...]:
    if isinstance(layers, str) or len(layers) == 0:
        refuse(WHO, "layers must be a sequence of at least one name", repr(layers))
    names = [INPUT, *(name for name, _ in model.named_modules() if name)]
    for layer in layers:
        if layer not in names:
            rule = 'layers must be "input" or names of the model\'s submodules'
            refuse(WHO, rule, repr(layer), nearest(str(layer), names))
    return tuple(layers)
