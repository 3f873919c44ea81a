import pytest
import torch
from torch import nn

from softaug.lab.models import Standardise, create
from softaug.lab.models import manifold_mixup as stages
from softaug.lab.models.pyramidnet import PyramidNet
from softaug.lab.models.wide_resnet import WideResNet


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (create("resnet8", 10), ("blocks.0", "blocks.1", "blocks.2")),
        (create("resnet8-s2", 10), ("blocks.0", "blocks.1", "blocks.2")),
        (create("resnet18", 10), ("blocks.1", "blocks.3", "blocks.5", "blocks.7")),
        (create("imagenet-resnet50", 10), ("layer1", "layer2", "layer3", "layer4")),
        (WideResNet(16, 1, 10), ("blocks.1", "blocks.3", "blocks.5")),
        (PyramidNet(20, 6, 10), ("blocks.1", "blocks.3", "blocks.5")),
    ],
    ids=["resnet8", "resnet8-s2", "resnet18", "imagenet-resnet50", "wrn", "pyramidnet"],
)
def test_stages_end_before_the_image_is_halved(model, expected):
    assert stages(model) == expected
    sizes = {}
    for name in expected:
        layer = model.get_submodule(name)
        layer.register_forward_hook(lambda _, __, out, name=name: sizes.update({name: out.shape}))
    model.eval()(torch.zeros(1, 3, 32, 32))
    heights = [sizes[name][2] for name in expected]
    assert heights == [heights[0] // 2**stage for stage in range(len(expected))]


def test_a_network_is_found_within_another_module():
    model = nn.Sequential(Standardise([0.0] * 3, [1.0] * 3), create("resnet8", 10))
    assert stages(model) == ("1.blocks.0", "1.blocks.1", "1.blocks.2")


def test_an_unknown_network_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="got Linear; name layers of it"):
        stages(nn.Linear(2, 2))
