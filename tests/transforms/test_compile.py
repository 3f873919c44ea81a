"""torch.compile: one graph for every size (a last batch is smaller, photographs differ)."""

import pytest
import torch

from softaug import DrawKey, SoftLabel, SoftLoss
from softaug.transforms import TwoViews
from tests.transforms.pictures import pictures
from tests.transforms.test_every_transform import TRANSFORMS

TABLE = torch.full((4, 4), 0.25)
SIZES = [(6, 8, 10), (4, 8, 10), (3, 12, 9)]  # batch, height, width
# PerSample calls what no compiler traces; "rand" is "trivial" twice; the others are in views.
NAMES = sorted({*TRANSFORMS} - {"rand", "PerSample", "ColorJitter", "HorizontalFlip"})


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch.compiler.reset()


def compile_whole(function, **options):
    return torch.compile(function, backend="eager", fullgraph=True, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_transform_is_one_graph_for_every_size(name):
    transform = TRANSFORMS[name]
    compiled = compile_whole(transform, dynamic=True)
    for num, height, width in SIZES:
        images, index = torch.rand(num, 3, height, width), torch.arange(num)
        image, label = compiled(images, index, key=DrawKey(3, 1, index))
        expected, soft = transform(images, index, key=DrawKey(3, 1, index))
        torch.testing.assert_close(image, expected)
        torch.testing.assert_close(label.retained, soft.retained)


@pytest.mark.parametrize("name", ["SoftCrop", "SoftErase", "UniformResizedCrop"])
def test_torchs_own_generator_serves_the_last_batch_too(name):
    compiled = compile_whole(TRANSFORMS[name])  # the second size makes the shape symbolic
    for num, height, width in SIZES:
        images, label = compiled(torch.rand(num, 3, height, width), torch.arange(num))
        assert (len(images), label.retained.shape) == (num, (num,))


def test_compiled_views_are_one_graph_with_the_same_pixels():
    views = TwoViews(8)
    compiled = compile_whole(views, dynamic=True)
    for num, height, width in SIZES:
        images, key = pictures(num, 3, height, width), DrawKey(3, 1, torch.arange(num))
        assert all(map(torch.equal, compiled(images, key=key), views(images, key=key)))


def batch(num=6):
    logits = torch.randn(num, 4, generator=torch.Generator().manual_seed(0))
    return logits, SoftLabel(torch.arange(num) % 4, torch.linspace(0, 1, num))


def value_and_gradient(loss, logits, label):
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, label)
    value.sum().backward()
    return value.detach(), leaf.grad


@pytest.mark.parametrize(
    "loss",
    [
        SoftLoss("target", label_smoothing=0.1),
        SoftLoss("weight", "normalized"),
        SoftLoss("both", "batch_mean", TABLE, "none"),
    ],
    ids=repr,
)
def test_a_compiled_loss_is_one_graph_for_every_size_and_equals_eager(loss):
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for num in (6, 4, 3):
        found = value_and_gradient(compiled, *batch(num))
        expected = value_and_gradient(loss, *batch(num))
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def test_a_compiled_loss_skips_value_checks_and_still_refuses_a_column():
    logits, label = batch()
    bad = label._replace(retained=label.retained + 1)
    expected = SoftLoss("weight", validate=False)(logits, bad)
    torch.testing.assert_close(compile_whole(SoftLoss("weight"))(logits, bad), expected)
    compiled = torch.compile(SoftLoss(), backend="eager")
    with pytest.raises(ValueError, match="retained must be a tensor"):
        compiled(logits, label._replace(retained=label.retained[:, None]))
