import shutil

import pytest
import torch

from softaug import SoftLabel, SoftLoss

TABLE = torch.full((4, 4), 0.25)
LOSSES = [
    SoftLoss("target", label_smoothing=0.1),
    SoftLoss("weight", "normalized"),
    SoftLoss("both", "batch_mean", TABLE, "none"),
]


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch.compiler.reset()


def batch():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=generator)
    label = SoftLabel(torch.arange(6) % 4, torch.linspace(0, 1, 6))
    return logits, label


def value_and_gradient(loss, logits, label):
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, label)
    value.sum().backward()
    return value.detach(), leaf.grad


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_compiled_loss_is_one_graph_and_equals_eager(loss):
    logits, label = batch()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for found, expected in zip(
        value_and_gradient(compiled, logits, label),
        value_and_gradient(loss, logits, label),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_compiled_loss_skips_value_checks():
    logits, label = batch()
    bad = label._replace(retained=label.retained + 1)
    compiled = torch.compile(SoftLoss("weight"), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(
        compiled(logits, bad), SoftLoss("weight", validate=False)(logits, bad)
    )


def test_compiled_loss_still_refuses_a_column_of_retained():
    logits, label = batch()
    compiled = torch.compile(SoftLoss(), backend="aot_eager")
    with pytest.raises(ValueError, match="retained must be a tensor"):
        compiled(logits, label._replace(retained=label.retained[:, None]))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="inductor needs a C++ compiler")
def test_inductor_gives_the_eager_loss_and_gradient(monkeypatch):
    monkeypatch.setattr("torch._inductor.config.compile_threads", 1)
    logits, label = batch()
    compiled = torch.compile(SoftLoss(), fullgraph=True)
    value, gradient = value_and_gradient(compiled, logits, label)
    expected, slope = value_and_gradient(SoftLoss(), logits, label)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slope)
