"""Users' code calls these: a change here is a change of the API and goes to the changelog."""

import inspect

import pytest

import softaug
from softaug.transforms import SoftTransform

SIGNATURES = {
    "DrawKey": "seed epoch index stream=0",
    "SoftAffine": "degrees=30.0 translate=(0.0, 0.0) scale=(1.0, 1.0) shear=0.0 k=2.0 fill=0",
    "SoftCrop": "sigma=0.3 k=2.0 fill=0",
    "SoftCutout": "length=8 k=2.0 fill=0",
    "SoftErase": "area=(0.02, 0.33) ratio=(0.3, 3.3) k=2.0 fill=0 p=1.0",
    "SoftLabel": "label retained",
    "SoftLoss": "soften='both' weighting='sample' prior='uniform' reduction='mean' validate=None "
    "label_smoothing=0.0",
    "SoftNoise": "sigma=0.1 noise_sd=0.1 k=1.0",
    "SoftPolicy": "policy='trivial' num_ops=None magnitude=None curves='naive' fill=0",
    "UniformCrop": "reach=4 k=2.0 fill=0",
    "confidence": "retained num_classes",
    "retained": "visible k=2.0",
}
METHODS = {
    SoftTransform.forward: "self images labels=None * generator=None key=None",
    SoftTransform.draw: "self images * generator=None key=None",
    SoftTransform.apply: "self images params=None",
    SoftTransform.report: "self labels params",
    softaug.SoftPolicy.describe: "self params",
    softaug.SoftLabel.confidence: "self num_classes",
    softaug.SoftLabel.dense: "self num_classes",
    softaug.SoftLabel.to: "self device non_blocking=False",
    softaug.SoftLoss.forward: "self logits label",
}


def shown(function):
    """Names and defaults of the parameters; `*` starts those given by name only."""
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        bare = parameter.default is parameter.empty
        parts.append(parameter.name if bare else f"{parameter.name}={parameter.default!r}")
    return " ".join(parts)


def test_public_names_are_these():
    assert sorted(softaug.__all__) == sorted(SIGNATURES)


@pytest.mark.parametrize("name", SIGNATURES)
def test_public_signature_is_this(name):
    assert shown(getattr(softaug, name)) == SIGNATURES[name]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__qualname__)
def test_method_signature_is_this(method):
    assert shown(method) == METHODS[method]


@pytest.mark.parametrize("name", SIGNATURES)
def test_public_names_are_documented(name):
    assert (getattr(softaug, name).__doc__ or "").strip()


@pytest.mark.parametrize(
    "name",
    [
        "SoftAffine",
        "SoftCrop",
        "SoftCutout",
        "SoftErase",
        "SoftNoise",
        "SoftPolicy",
        "UniformCrop",
    ],
)
def test_transforms_share_one_interface(name):
    kind = getattr(softaug, name)
    assert issubclass(kind, SoftTransform)
    shared = ("forward", "draw", "apply", "report")
    assert all(getattr(kind, method) is getattr(SoftTransform, method) for method in shared)
