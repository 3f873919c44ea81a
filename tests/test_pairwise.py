"""Every soft transform with every mix and every setting of the loss."""

import pytest
import torch

from softaug import (
    CutMix,
    DrawKey,
    Mixup,
    OnlineSmoothing,
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftLoss,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
)

CLASSES, NUM = 5, 8
TABLE = torch.softmax(torch.arange(25.0).view(5, 5).cos(), 1)
TRANSFORMS = [
    None,
    SoftCrop(),
    UniformCrop(4),
    SoftErase(),
    SoftCutout(5),
    SoftNoise(),
    SoftAffine(),
    SoftPolicy("trivial"),
    SoftPolicy("rand"),
    SoftResizedCrop(12),
    UniformResizedCrop(12),
]
MIXES = [None, Mixup(), CutMix()]
LOSSES = {
    **{f"soften={mode}": {"soften": mode} for mode in ("none", "target", "weight", "both")},
    "label smoothing": {"label_smoothing": 0.1},
    "online smoothing": {"base": True},
    "focal": {"focal_gamma": 2.0},
    "prior matrix": {"prior": TABLE},
    "normalized": {"weighting": "normalized"},
    "all": {"base": True, "focal_gamma": 2.0, "prior": TABLE, "weighting": "batch_mean"},
}


def make_loss(base=False, **settings):
    return SoftLoss(**settings, base=OnlineSmoothing(CLASSES) if base else None)


def make_batch(transform, mix):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (NUM, 3, 12, 12), generator=generator, dtype=torch.uint8)
    label = torch.arange(NUM) % CLASSES
    if transform is not None:
        images, label = transform(images, label, key=DrawKey(1, 2, torch.arange(NUM)))
    if mix is not None:
        images, label = mix(images, label, key=DrawKey(1, 2, 3))
    return images.float().flatten(1) / 255, label


@pytest.mark.parametrize("mix", MIXES, ids=repr)
@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_any_transform_goes_with_any_mix_and_any_loss(transform, mix):
    inputs, label = make_batch(transform, mix)
    for settings in LOSSES.values():
        layer, loss = torch.nn.Linear(3 * 12 * 12, CLASSES), make_loss(**settings)
        logits = layer(inputs)
        value = loss(logits, label)
        value.backward()
        assert value.isfinite(), settings
        assert layer.weight.grad.isfinite().all(), settings
        assert layer.weight.grad.any(), settings
        if loss.base is not None:
            loss.base.gather(logits, label)


@pytest.mark.parametrize("mix", [Mixup(), CutMix()], ids=repr)
@pytest.mark.parametrize("name", LOSSES)
def test_a_mix_of_an_image_with_itself_is_the_image(name, mix):
    images, label = torch.rand(1, 3, 12, 12), SoftLabel(torch.tensor([3]), torch.tensor([0.4]))
    mixed, both = mix(images, label, key=DrawKey(1, 2, 3))
    torch.testing.assert_close(mixed, images)
    logits = torch.linspace(-1, 1, CLASSES)[None]
    loss = make_loss(**LOSSES[name])
    torch.testing.assert_close(loss(logits, both), loss(logits, label))


@pytest.mark.parametrize("transform", [CutMix(), SoftCrop()], ids=repr)
def test_neither_a_mix_nor_a_soft_transform_follows_a_mix(transform):
    inputs, label = make_batch(None, Mixup())
    with pytest.raises(
        ValueError, match=rf"{transform.name}: (images can be mixed once|labels of)"
    ):
        transform(inputs.view(NUM, 3, 12, 12), label)


def test_a_compiled_loss_of_mixed_labels_is_one_graph_and_equals_eager():
    torch.compiler.reset()
    loss, (inputs, label) = make_loss(**LOSSES["all"]), make_batch(SoftCrop(), CutMix())
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    logits = inputs[:, :CLASSES].clone().requires_grad_()
    found, expected = compiled(logits, label), loss(logits, label)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(value, logits)[0] for value in (found, expected)]
    torch.testing.assert_close(*slopes)
