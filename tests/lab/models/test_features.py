import pytest
import torch
from torch import nn

from softaug.lab.models import Standardise, create, feature_extractor
from softaug.lab.models.registry import MODELS

SIZES = {
    "resnet8": 64,
    "resnet8-s2": 128,
    "resnet20": 64,
    "resnet18": 512,
    "resnet50": 2048,
    "resnet101": 2048,
    "wrn28-10": 640,
    "pyramidnet272": 864,
    "efficientnet-b0": 1280,
    "imagenet-resnet50": 2048,
    "imagenet-resnet101": 2048,
}


@pytest.mark.parametrize("name", MODELS)
def test_every_network_gives_its_features(name):
    with torch.device("meta"):  # shapes without the work
        backbone, size = feature_extractor(create(name, num_classes=7))
        assert size == SIZES[name]
        assert backbone(torch.empty(2, 3, 32, 32)).shape == (2, size)


@pytest.mark.parametrize("name", ["resnet8", "efficientnet-b0"])
def test_the_classifier_saw_these_features(name):
    torch.manual_seed(0)
    model, images = create(name, num_classes=7).eval(), torch.randn(2, 3, 32, 32)
    linear = [part for part in model.modules() if isinstance(part, nn.Linear)][-1]
    logits = model(images)
    backbone, _ = feature_extractor(model)
    torch.testing.assert_close(linear(backbone(images)), logits)


def test_the_classifiers_dropout_is_gone_too():
    backbone, _ = feature_extractor(create("efficientnet-b0", num_classes=7))
    assert not any(isinstance(part, nn.Dropout) for part in backbone.modules())


def test_a_network_within_another_module_is_found():
    model = nn.Sequential(Standardise([0.0] * 3, [1.0] * 3), create("resnet8", 7))
    backbone, size = feature_extractor(model)
    assert backbone(torch.zeros(2, 3, 32, 32)).shape == (2, size)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("resnet18", 512),
        ("mobilenetv3_small_050", 1024),  # more layers between features and classifier
        ("deit_tiny_distilled_patch16_224", 192),  # two classifiers
        ("convnext_atto", 320),
    ],
)
def test_timms_networks_give_their_features(name, size):
    pytest.importorskip("timm")
    backbone, found = feature_extractor(create(f"timm:{name}", num_classes=7))
    assert found == size
    assert backbone.eval()(torch.zeros(2, 3, 224, 224)).shape == (2, size)


@pytest.mark.parametrize("model", [nn.Sequential(nn.Flatten()), nn.Linear(4, 2)], ids=str)
def test_a_network_without_a_classifier_is_refused(model):
    with pytest.raises(ValueError, match="feature_extractor: model must be a network whose last"):
        feature_extractor(model)
