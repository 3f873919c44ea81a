"""Networks by name, their shapes and sizes, features, stages and ShakeDrop."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from softaug.lab.models import create
from softaug.lab.models.backbone import Normalize, feature_extractor
from softaug.lab.models.manifold_mixup import find_stages
from softaug.lab.models.pyramidnet import PyramidNet, ShakeDrop
from softaug.lab.models.registry import MODELS
from softaug.lab.models.resnet import WideResNet, resnet8

# Millions of parameters at 100 classes, those of the paper's networks as it or its sources say;
# and the number of features.
EXPECTED = {
    "resnet8": (0.084, 64),
    "resnet8-s2": (0.320, 128),
    "resnet8-tiny": (0.084, 64),
    "resnet20": (0.278, 64),
    "resnet18": (11.22, 512),
    "resnet50": (23.71, 2048),
    "resnet101": (42.70, 2048),
    "wrn28-10": (36.54, 640),
    "pyramidnet272": (26.29, 864),
    "fastnet": (1.18, 256),
    "fastnet-wide": (2.0, 256),
    "efficientnet-b0": (4.14, 1280),
    "imagenet-resnet50": (23.71, 2048),
    "imagenet-resnet101": (42.71, 2048),
    "vit-tiny-32": (2.71, 192),
    "vit-tiny-64": (2.74, 192),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_features_of_every_network(name):
    with torch.device("meta"):  # shapes without the work
        model = create(name, num_classes=100)
        millions = sum(part.numel() for part in model.parameters()) / 1e6
        linear = [part for part in model.modules() if isinstance(part, nn.Linear)][-1]
        backbone, size = feature_extractor(model)
        assert (round(millions, 3 if millions < 1 else 2), size) == EXPECTED[name]
        edge = 64 if name == "vit-tiny-64" else 32
        assert linear(backbone(torch.empty(2, 3, edge, edge))).shape == (2, 100)


def test_unknown_names_and_a_single_class_are_refused():
    with pytest.raises(ValueError, match=r"create: name must be one of .* did you mean 'resnet18'"):
        create("resnet19", 10)
    with pytest.raises(ValueError, match="create: the number of classes must be at least 2, got 1"):
        create("resnet8", 1)
    pytest.importorskip("timm")
    with pytest.raises(ValueError, match=r"create: NAME in timm:NAME must be .*mean 'resnet18"):
        create("timm:resnet181", 10)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("mobilenetv3_small_050", 1024),  # more layers between features and classifier
        ("deit_tiny_distilled_patch16_224", 192),  # two classifiers
    ],
)
def test_timms_networks_give_logits_and_features(name, size):
    pytest.importorskip("timm")
    with torch.device("meta"):
        model, images = create(f"timm:{name}", num_classes=7).eval(), torch.empty(2, 3, 224, 224)
        assert model(images).shape == (2, 7)
        backbone, found = feature_extractor(model)
        assert found == size
        assert backbone(images).shape == (2, size)


def test_every_parameter_of_our_networks_gets_a_gradient():
    torch.manual_seed(0)
    models = [create(name, num_classes=7) for name in ("resnet8", "resnet8-s2", "resnet20")]
    for model in (*models, PyramidNet(11, 6, 7), WideResNet(10, 1, 7)):
        logits = model(torch.randn(4, 3, 16, 16))
        assert logits.shape == (4, 7)
        assert 0.02 < float(logits.detach().std()) < 5  # neither vanish nor explode
        logits.square().sum().backward()
        assert all(part.grad is not None for part in model.parameters())


def test_the_classifier_saw_these_features():
    torch.manual_seed(0)
    model, images = create("efficientnet-b0", num_classes=7).eval(), torch.randn(2, 3, 32, 32)
    linear = [part for part in model.modules() if isinstance(part, nn.Linear)][-1]
    logits = model(images)
    backbone, _ = feature_extractor(model)
    torch.testing.assert_close(linear(backbone(images)), logits)
    assert not any(isinstance(part, nn.Dropout) for part in backbone.modules())


def test_a_network_is_found_within_another_module():
    normalize = Normalize([0.0] * 3, [1.0] * 3)
    assert list(normalize.state_dict()) == ["mean", "sd"]  # as saved runs have them
    model = nn.Sequential(normalize, resnet8(7))
    assert find_stages(model) == ("1.blocks.0", "1.blocks.1", "1.blocks.2")
    backbone, size = feature_extractor(model)
    assert backbone(torch.zeros(2, 3, 32, 32)).shape == (2, size)


def test_a_network_without_a_classifier_or_known_stages_is_refused():
    for model in (nn.Sequential(nn.Flatten()), nn.Linear(4, 2)):
        with pytest.raises(ValueError, match="feature_extractor: model must be a network whose"):
            feature_extractor(model)
    with pytest.raises(ValueError, match="got Linear; name layers of it"):
        find_stages(nn.Linear(2, 2))


def test_stages_end_before_the_image_is_halved():
    for model, expected in (
        (create("resnet8", 10), ("blocks.0", "blocks.1", "blocks.2")),
        (create("resnet8-s2", 10), ("blocks.0", "blocks.1", "blocks.2")),
        (create("resnet18", 10), ("blocks.1", "blocks.3", "blocks.5", "blocks.7")),
        (create("imagenet-resnet50", 10), ("layer1", "layer2", "layer3", "layer4")),
        (WideResNet(16, 1, 10), ("blocks.1", "blocks.3", "blocks.5")),
        (PyramidNet(20, 6, 10), ("blocks.1", "blocks.3", "blocks.5")),
    ):
        assert find_stages(model) == expected
        heights = []
        for name in expected:
            layer = model.get_submodule(name)
            layer.register_forward_hook(lambda _, __, out, to=heights: to.append(out.shape[2]))
        model.eval()(torch.zeros(1, 3, 32, 32))
        assert heights == [heights[0] // 2**stage for stage in range(len(expected))]


def test_pyramid_widths_grow_to_first_plus_alpha_and_keep_falls_to_a_half():
    model = PyramidNet(depth=20, alpha=12, num_classes=4)
    assert model.linear.in_features == 4 * (16 + 12)
    keeps = [block.shake.keep for block in model.blocks]
    assert keeps[-1] == 0.5
    assert all(a > b for a, b in pairwise(keeps))


def test_shakedrop_in_training_has_the_mean_it_uses_in_evaluation():
    torch.manual_seed(0)
    shake, branch = ShakeDrop(keep=0.7), torch.ones(64, 1, 1, 1)
    mean = torch.cat([shake(branch) for _ in range(500)]).mean()
    torch.testing.assert_close(mean, shake.eval()(branch).mean(), atol=0.05, rtol=0)
    assert torch.equal(ShakeDrop(keep=1.0)(branch), branch)


def test_shakedrop_scales_values_and_gradients_by_different_factors():
    torch.manual_seed(0)
    branch = torch.full((512, 1, 1, 1), 3.0, requires_grad=True)
    out = ShakeDrop(keep=0.0)(branch)
    out.sum().backward()
    forward, backward = (out / 3).flatten().detach(), branch.grad.flatten()
    assert -1 < forward.min() < -0.9 < 0.9 < forward.max() < 1
    assert 0 < backward.min() < 0.1 < 0.9 < backward.max() < 1
    assert torch.corrcoef(torch.stack([forward, backward]))[0, 1].abs() < 0.15
