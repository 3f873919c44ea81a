from itertools import pairwise

import torch

from softaug.lab.models.pyramidnet import PyramidNet, ShakeDrop
from softaug.lab.models.wide_resnet import WideResNet


def test_widths_grow_to_first_plus_alpha_and_keep_falls_to_a_half():
    model = PyramidNet(depth=20, alpha=12, num_classes=4)
    assert model.linear.in_features == 4 * (16 + 12)
    keeps = [block.shake.keep for block in model.blocks]
    assert keeps[-1] == 0.5
    assert all(a > b for a, b in pairwise(keeps))


def test_small_pyramid_and_wide_nets_train_a_step():
    for model in (PyramidNet(11, 6, num_classes=4), WideResNet(10, 1, num_classes=4)):
        logits = model(torch.randn(2, 3, 16, 16))
        logits.square().sum().backward()
        assert logits.shape == (2, 4)
        assert all(part.grad is not None for part in model.parameters())


def test_shakedrop_in_training_has_the_mean_it_uses_in_evaluation():
    torch.manual_seed(0)
    shake, branch = ShakeDrop(keep=0.7), torch.ones(64, 1, 1, 1)
    trained = torch.cat([shake(branch) for _ in range(2000)]).mean()
    torch.testing.assert_close(trained, shake.eval()(branch).mean(), atol=0.03, rtol=0)


def test_shakedrop_scales_values_and_gradients_by_different_factors():
    torch.manual_seed(0)
    branch = torch.full((512, 1, 1, 1), 3.0, requires_grad=True)
    out = ShakeDrop(keep=0.0)(branch)
    out.sum().backward()
    forward, backward = (out / 3).flatten().detach(), branch.grad.flatten()
    assert -1 < forward.min() < -0.9 < 0.9 < forward.max() < 1
    assert 0 < backward.min() < 0.1 < 0.9 < backward.max() < 1
    assert torch.corrcoef(torch.stack([forward, backward]))[0, 1].abs() < 0.15


def test_shakedrop_that_always_keeps_changes_nothing():
    branch = torch.randn(4, 2, 3, 3)
    assert torch.equal(ShakeDrop(keep=1.0)(branch), branch)


def test_shakedrop_compiles_and_runs_under_autocast():
    shake = torch.compile(ShakeDrop(keep=0.5), fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", torch.bfloat16):
        out = shake(torch.randn(4, 2, 3, 3, dtype=torch.bfloat16, requires_grad=True))
    assert out.dtype == torch.bfloat16
    out.sum().backward()
