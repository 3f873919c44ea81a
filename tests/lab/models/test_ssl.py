"""SimSiam and Barlow Twins: networks and losses."""

import math

import pytest
import torch
from torch import nn

from softaug.lab.models import create
from softaug.lab.models.backbone import feature_extractor
from softaug.lab.models.ssl import (
    SimSiam,
    barlow_twins_loss,
    cross_correlation,
    feature_std,
    simsiam_loss,
)

NUM, SIZE = 12, 5


def small(**settings):
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(12, 6))
    return SimSiam(backbone, 6, **{"hidden": 8, "bottleneck": 4, **settings})


def views(num=10):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, num, 3, 2, 2, generator=generator).unbind(0)


def linear_sizes(part):
    return [(p.in_features, p.out_features) for p in part if isinstance(p, nn.Linear)]


def test_heads_are_the_papers():
    with torch.device("meta"):
        model = SimSiam(*feature_extractor(create("resnet18", num_classes=10)))
    assert linear_sizes(model.projector) == [(512, 2048), (2048, 2048), (2048, 2048)]
    assert linear_sizes(model.predictor) == [(2048, 512), (512, 2048)]
    norms = [p.affine for p in model.projector if isinstance(p, nn.BatchNorm1d)]
    assert norms == [True, True, False]
    biases = [p.bias is not None for p in model.predictor if isinstance(p, nn.Linear)]
    assert biases == [False, True]
    assert linear_sizes(small(num_layers=2).projector) == [(6, 8), (8, 8)]


def test_each_view_predicts_from_its_own_projection():
    model, (first, second) = small().eval(), views()
    output = model(first, second)
    assert torch.equal(output.z2, model.projector(model.backbone(second)))
    assert torch.equal(output.p2, model.predictor(output.z2))
    swapped = model(second, first)
    assert torch.equal(swapped.p1, output.p2)
    torch.testing.assert_close(simsiam_loss(*swapped), simsiam_loss(*output))


def slow_loss(p1, p2, z1, z2):
    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))

    rows = zip(p1.tolist(), p2.tolist(), z1.tolist(), z2.tolist(), strict=True)
    return torch.tensor([-0.5 * cosine(a, d) - 0.5 * cosine(b, c) for a, b, c, d in rows])


def test_the_loss_of_each_pair_is_that_of_a_slow_loop_and_ends_at_minus_1_and_1():
    parts = torch.randn(4, 7, 5, generator=torch.Generator().manual_seed(0)).unbind(0)
    torch.testing.assert_close(simsiam_loss(*parts), slow_loss(*parts))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(simsiam_loss(x, 2 * x, 3 * x, x), -torch.ones(3))
    torch.testing.assert_close(simsiam_loss(x, x, -x, -5 * x), torch.ones(3))


def test_no_gradient_flows_through_the_projections():
    output = small()(*views())
    assert not output.z1.requires_grad
    assert not output.z2.requires_grad
    assert output.p1.requires_grad


def test_feature_std_is_1_for_uniform_0_for_collapsed_features():
    features = torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0))
    assert float(feature_std(features)) == pytest.approx(1, abs=0.01)
    assert float(feature_std(3 * features)) == pytest.approx(float(feature_std(features)))
    assert float(feature_std(features[:1] * torch.arange(1, 9)[:, None])) < 1e-3
    assert float(feature_std(features[:1])) == 0
    features[:, 8:] = 0
    assert float(feature_std(features)) == pytest.approx(0.5 * math.sqrt(2), abs=0.01)


X = torch.ones(3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simsiam_loss(X, X, X, X[:2]), r"simsiam_loss: z2 must have the shape of p1"),
        (lambda: simsiam_loss(X[0], X, X, X), r"simsiam_loss: p1 must be .* \[B, D\]"),
        (lambda: simsiam_loss(X, X, X.clone().requires_grad_(), X), "no gradient.*z.detach"),
        (lambda: feature_std(X.long()), "feature_std: features must be .* floating-point"),
        (lambda: feature_std(X[:0]), "feature_std: features must be a non-empty"),
        (lambda: small(num_layers=0), "SimSiam: num_layers must be a whole number >= 1"),
        (lambda: small(bottleneck=2.5), "mlp: width must be a whole number >= 1"),
        (lambda: cross_correlation(X, X[:2]), r"z2 must have the shape of z1, \[3, 4\]"),
        (lambda: cross_correlation(X[0], X[0]), r"z1 must be .* floating-point tensor \[B, D\]"),
        (lambda: cross_correlation(X, X, X[:, :1]), r"weights must be a tensor \[B\] .* 3 pairs"),
        (lambda: cross_correlation(X, X, 0.5 - X[:, 0]), "weights must be >= 0, got -0.5"),
        (lambda: cross_correlation(X, X, math.nan * X[:, 0]), "weights must be >= 0, got nan"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def features(num=NUM, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(num, SIZE, generator=generator, dtype=dtype) + 3
    second = first + 0.5 * torch.randn(num, SIZE, generator=generator, dtype=dtype)
    return first, second


def weights(num=NUM):
    return torch.rand(num, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1


def usual_loss(z1, z2, redundancy=0.005):
    """As the paper's pseudo-code has it, with BatchNorm."""
    norm = nn.BatchNorm1d(z1.shape[1], affine=False, dtype=z1.dtype)
    c = norm(z1).T @ norm(z2) / len(z1)
    off = ~torch.eye(len(c), dtype=torch.bool)
    return (c.diagonal() - 1).pow(2).sum() + redundancy * c[off].pow(2).sum()


@pytest.mark.parametrize("given", [None, torch.ones(NUM), torch.full((NUM,), 0.3)], ids=str)
def test_equal_weights_give_the_usual_barlow_twins_loss(given):
    z1, z2 = features()
    torch.testing.assert_close(barlow_twins_loss(z1, z2, given), usual_loss(z1, z2))


def test_a_pair_of_weight_3_is_there_three_times_one_of_weight_0_not_at_all():
    z1, z2 = features()
    counts = torch.tensor([3, 1, 0] * 4)
    z1[2], z2[5] = 1e4, -1e4
    repeated = [z.repeat_interleave(counts, dim=0) for z in (z1, z2)]
    torch.testing.assert_close(barlow_twins_loss(z1, z2, counts.double()), usual_loss(*repeated))


def test_gradients_are_right_even_where_a_weight_is_0():
    z1, z2 = (z.requires_grad_() for z in features())
    given = weights()
    given[3] = 0
    assert torch.autograd.gradcheck(lambda a, b: barlow_twins_loss(a, b, given), (z1, z2))
    barlow_twins_loss(z1, z2, given).backward()
    assert z1.grad[3].abs().max() == 0 < z1.grad[4].abs().max()


def test_all_zero_weights_and_constant_features_give_no_nan():
    z1, z2 = (z.requires_grad_() for z in features())
    loss = barlow_twins_loss(z1, z2, torch.zeros(NUM))
    loss.backward()
    assert (loss.item(), float(z1.grad.abs().max())) == (SIZE, 0)
    assert float(barlow_twins_loss(torch.ones(4, SIZE), torch.ones(4, SIZE))) == SIZE


def test_autocast_does_not_touch_the_correlation():
    z1, z2 = features(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = cross_correlation(z1, z2)
    assert torch.equal(found, cross_correlation(z1, z2))
