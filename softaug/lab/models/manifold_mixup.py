"""Manifold Mixup: the mix happens at a layer of the network, drawn for each batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.utils.hooks import RemovableHandle
from torchvision.models import ResNet as TorchvisionResNet

from softaug.checks import check_positive, describe, nearest, refuse
from softaug.draws import DrawKey
from softaug.lab.models.pyramidnet import PyramidNet
from softaug.lab.models.resnet import ResNet
from softaug.lab.models.wide_resnet import WideResNet
from softaug.label import MixedLabel, SoftLabel, mix_labels
from softaug.mixing import draw_pairs, mix_values, take


def stages(model: nn.Module) -> tuple[str, ...]:
    """Name of the last layer of each stage: the blocks at one image size.

    For this package's residual networks and torchvision's, also within another module.

    >>> from softaug.lab.models import create
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


WHO = "ManifoldMixup"
INPUT = "input"


class ManifoldParams(NamedTuple):
    """Whom each sample is mixed with, its own share, and where."""

    partner: Tensor  # [B] int64, a place in the batch
    share: Tensor  # [B] float32
    layer: str


class ManifoldMixup:
    """Mixes the outputs of one layer, drawn evenly from `layers` (Verma et al. 2019).

    layers: names of submodules of `model`, whose outputs are [B, ...]; "input" (or "") is the
        images. None takes the paper's for residual networks: input and the first two stages.

    Within `mixing`, the model mixes in its one forward pass; elsewhere it is as it was. Under
    several processes each mixes within its own samples; the model may be wrapped for them. A
    compiled model is refused there, since it would skip the mix.

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
        self.model = _inner(model)
        self.layers = default_layers(model) if layers is None else _check(self.model, layers)
        self.alpha = check_positive(WHO, "alpha", alpha)

    @contextmanager
    def mixing(
        self, num: int, *, generator: Generator | None = None, key: DrawKey | None = None
    ) -> Iterator[ManifoldParams]:
        """Mix in the forward pass of `num` samples that is called within; gives what was drawn."""
        params = self.draw(num, generator=generator, key=key)
        mixer = _Mixer(params)
        handle = self._register(params.layer, mixer)
        try:
            yield params
        finally:
            handle.remove()
        if mixer.runs != 1:
            rule = f"layer {params.layer!r} must run once within mixing()"
            remedy = "call the model in it, once; compiled models skip layers' hooks"
            refuse(WHO, rule, f"{mixer.runs} runs", remedy)

    def draw(
        self, num: int, *, generator: Generator | None = None, key: DrawKey | None = None
    ) -> ManifoldParams:
        """Parameters for `num` samples, on the CPU; `key` has the step as its index."""
        drawn = draw_pairs(WHO, num, self.alpha, self.purpose, generator, key)
        layer = self.layers[int(drawn.spare[0] * len(self.layers))]
        return ManifoldParams(drawn.partner, torch.full((num,), drawn.share), layer)

    def report(self, labels: Tensor | SoftLabel, params: ManifoldParams) -> MixedLabel:
        """The labels of the batch, each with its partner's."""
        return mix_labels(labels, take(labels, params.partner), params.share)

    def _register(self, layer: str, mixer: "_Mixer") -> RemovableHandle:
        if layer == INPUT:
            return self.model.register_forward_pre_hook(mixer.before)
        return self.model.get_submodule(layer).register_forward_hook(mixer.after)

    def __repr__(self) -> str:
        return f"{WHO}(layers={self.layers}, alpha={self.alpha})"


class _Mixer:
    """The hooks of one forward pass."""

    def __init__(self, params: ManifoldParams) -> None:
        self.params = params
        self.runs = 0

    def before(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if not inputs:
            refuse(WHO, "the images must be the model's first argument, not a named one", "none")
        return (self._mix(inputs[0]), *inputs[1:])

    def after(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Tensor:
        return self._mix(output)

    def _mix(self, values: Any) -> Tensor:
        partner, share, layer = self.params
        if not isinstance(values, Tensor) or values.shape[:1] != partner.shape:
            rule = (
                f"layer {layer!r} must give a tensor with a row for each of {len(partner)} samples"
            )
            refuse(WHO, rule, describe(values))
        self.runs += 1
        return mix_values(values, take(values, partner), share)


def default_layers(model: nn.Module) -> tuple[str, ...]:
    """Where the paper mixes in residual networks: the input and the first two stages."""
    return (INPUT, *stages(_inner(model))[:2])


def _inner(model: nn.Module) -> nn.Module:
    """The network itself, without what spreads it over processes or devices."""
    if isinstance(model, DistributedDataParallel | DataParallel):
        inner: nn.Module = model.module
        return inner
    return model


def _check(model: nn.Module, layers: Sequence[str]) -> tuple[str, ...]:
    if isinstance(layers, str) or len(layers) == 0:
        refuse(WHO, "layers must be a sequence of at least one name", repr(layers))
    known = [INPUT, *(name for name, _ in model.named_modules() if name)]
    for layer in layers:
        if layer not in ("", *known):
            rule = 'layers must be "input" or names of the model\'s submodules'
            refuse(WHO, rule, repr(layer), nearest(str(layer), known))
    return tuple(layer or INPUT for layer in layers)
