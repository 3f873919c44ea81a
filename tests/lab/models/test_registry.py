import pytest
import torch

from softaug.lab.models import create
from softaug.lab.models.registry import MODELS

MILLIONS = {  # parameters at 100 classes; those of the paper's networks as it or its sources say
    "resnet8": 0.084,
    "resnet8-s2": 0.320,
    "resnet20": 0.278,
    "resnet18": 11.22,
    "resnet50": 23.71,
    "resnet101": 42.70,
    "wrn28-10": 36.54,
    "pyramidnet272": 26.29,
    "efficientnet-b0": 4.14,
    "imagenet-resnet50": 23.71,
    "imagenet-resnet101": 42.71,
}


@pytest.mark.parametrize("name", MODELS)
def test_parameter_counts(name):
    model = create(name, num_classes=100)
    millions = sum(part.numel() for part in model.parameters()) / 1e6
    assert round(millions, 3 if millions < 1 else 2) == MILLIONS[name]


@pytest.mark.parametrize("name", ["resnet8", "resnet8-s2", "resnet20", "resnet18", "resnet50"])
def test_small_images_give_logits_and_gradients_everywhere(name):
    model = create(name, num_classes=7)
    logits = model(torch.randn(2, 3, 32, 32))
    assert logits.shape == (2, 7)
    logits.sum().backward()
    assert all(part.grad is not None for part in model.parameters())


def test_a_timm_model_by_its_name():
    pytest.importorskip("timm")
    assert create("timm:resnet18", 5)(torch.randn(2, 3, 32, 32)).shape == (2, 5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet19", "create: name must be one of .* did you mean 'resnet18'"),
        ("timm:resnet181", "create: NAME in timm:NAME must be .* did you mean 'resnet18"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(name, message):
    with pytest.raises(ValueError, match=message):
        create(name, 10)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="create: the number of classes must be at least 2, got 1"):
        create("resnet8", 1)
