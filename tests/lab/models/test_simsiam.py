import math

import pytest
import torch
from torch import nn

from softaug.lab.models import SimSiam, create, feature_extractor, feature_std, simsiam_loss


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
    model = SimSiam(*feature_extractor(create("resnet18", num_classes=10)))
    assert linear_sizes(model.projector) == [(512, 2048), (2048, 2048), (2048, 2048)]
    assert linear_sizes(model.predictor) == [(2048, 512), (512, 2048)]
    norms = [p.affine for p in model.projector if isinstance(p, nn.BatchNorm1d)]
    assert norms == [True, True, False]
    kinds = [type(part).__name__ for part in model.predictor]
    assert kinds == ["Linear", "BatchNorm1d", "ReLU", "Linear"]
    biases = [p.bias is not None for p in model.predictor if isinstance(p, nn.Linear)]
    assert biases == [False, True]


def test_the_projector_can_have_two_layers():
    assert linear_sizes(small(num_layers=2).projector) == [(6, 8), (8, 8)]


def test_projections_have_mean_0_and_sd_1_over_the_batch():
    output = small()(*views())
    torch.testing.assert_close(output.z1.mean(0), torch.zeros(8), atol=1e-5, rtol=0)
    assert float((output.z1.std(0, correction=0) - 1).abs().max()) < 0.05


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


def test_the_loss_of_each_pair_is_that_of_a_slow_loop():
    parts = torch.randn(4, 7, 5, generator=torch.Generator().manual_seed(0)).unbind(0)
    torch.testing.assert_close(simsiam_loss(*parts), slow_loss(*parts))


def test_the_loss_ends_at_minus_1_and_1():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(simsiam_loss(x, 2 * x, 3 * x, x), -torch.ones(3))
    torch.testing.assert_close(simsiam_loss(x, x, -x, -5 * x), torch.ones(3))


def test_no_gradient_flows_through_the_projections():
    model, (first, second) = small(), views()
    output = model(first, second)
    assert not output.z1.requires_grad
    (gradient,) = torch.autograd.grad(simsiam_loss(*output).sum(), model.projector[0].weight)
    constant = [z.clone() for z in output[2:]]
    again = model(first, second)
    (expected,) = torch.autograd.grad(
        simsiam_loss(again.p1, again.p2, *constant).sum(), model.projector[0].weight
    )
    torch.testing.assert_close(gradient, expected)
    assert float(gradient.abs().max()) > 0


def test_training_brings_the_views_together_without_collapse():
    model = small(hidden=16, bottleneck=8)
    images = views(64)[0]
    noise = 0.3 * torch.randn(2, *images.shape, generator=torch.Generator().manual_seed(2))
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(60):
        output = model(images + noise[0], images + noise[1])
        loss = simsiam_loss(*output).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    assert losses[-1] < -0.8 < losses[0]
    assert float(feature_std(output.z1)) > 0.5


def test_even_features_have_a_std_of_1():
    features = torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0))
    assert float(feature_std(features)) == pytest.approx(1, abs=0.01)
    assert float(feature_std(3 * features)) == pytest.approx(float(feature_std(features)))


def test_collapsed_features_have_a_std_of_0():
    one = torch.randn(1, 16, generator=torch.Generator().manual_seed(0))
    lengths = torch.arange(1, 9)[:, None]
    assert float(feature_std(one * lengths)) == pytest.approx(0, abs=1e-3)
    assert float(feature_std(one)) == 0


def test_features_on_half_of_the_dimensions_have_a_std_between():
    features = torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0))
    features[:, 8:] = 0
    assert float(feature_std(features)) == pytest.approx(0.5 * math.sqrt(2), abs=0.01)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_measured_in_float32(dtype):
    parts = torch.randn(4, 7, 5, generator=torch.Generator().manual_seed(0)).to(dtype).unbind(0)
    wide = [part.float() for part in parts]
    assert torch.equal(simsiam_loss(*parts), simsiam_loss(*wide))
    assert torch.equal(feature_std(parts[0]), feature_std(wide[0]))


X = torch.ones(3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simsiam_loss(X, X, X, X[:2]), r"simsiam_loss: z2 must have the shape of p1"),
        (lambda: simsiam_loss(X[0], X, X, X), r"simsiam_loss: p1 must be .* \[B, D\]"),
        (lambda: simsiam_loss(X, X, X.clone().requires_grad_(), X), "no gradient.*z.detach"),
        (lambda: feature_std(X.long()), "feature_std: features must be .* floating-point"),
        (lambda: feature_std(X[:0]), "feature_std: features must be a non-empty"),
        (lambda: small(hidden=0), "SimSiam: hidden must be a whole number >= 1"),
        (lambda: small(num_layers=0), "SimSiam: num_layers must be a whole number >= 1"),
        (lambda: small(bottleneck=2.5), "SimSiam: bottleneck must be a whole number >= 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
