"""Energy margins, spectral bounds, SNGP, DDU and DUQ: against slow rules and what each promises."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from softaug import SoftLabel
from softaug.uncertainty import (
    DensityHead,
    EnergyMarginLoss,
    RandomFeatureGP,
    RBFHead,
    RBFLoss,
    bound_spectral_norms,
)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def test_energy_margins_cost_nothing_where_both_are_kept():
    logits = torch.tensor([[30.0, 0.0], [0.0, 25.0]])
    assert float(EnergyMarginLoss()(logits, torch.zeros(3, 2))) == 0
    known, unknown = torch.randn(5, 4) * 10, torch.randn(7, 4) * 10
    slow = sum(max(0.0, 23 - row.logsumexp(0).item()) ** 2 for row in known) / 5
    slow += sum(max(0.0, row.logsumexp(0).item() - 5) ** 2 for row in unknown) / 7
    assert float(EnergyMarginLoss()(known, unknown)) == pytest.approx(slow, rel=1e-5)
    with pytest.raises(ValueError, match="inside must be below outside"):
        EnergyMarginLoss(-5, -23)


def largest(weight):
    return float(torch.linalg.matrix_norm(weight.detach().flatten(1), 2))


def test_weights_above_the_bound_are_scaled_down_to_it_and_others_stay():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 4))
    big, small = 5 * torch.randn(8, 3, 3, 3), 0.01 * torch.randn(4, 8)
    model[0].weight.data.copy_(big)
    model[2].weight.data.copy_(small)
    bound_spectral_norms(model, bound=2.0).train()
    for _ in range(30):
        model(torch.randn(2, 3, 3, 3))
    assert largest(model[0].weight) == pytest.approx(2.0, rel=0.01)
    assert torch.equal(model[2].weight, small)
    model(torch.randn(2, 3, 3, 3)).sum().backward()
    assert model[0].parametrizations.weight.original.grad.isfinite().all()


def test_random_features_are_the_gaussian_kernel():
    gp = RandomFeatureGP(4, 2, num_features=20000, length_scale=2.0)
    x, y = torch.randn(2, 4)
    phi = gp.random_features(torch.stack([x, y]))
    apart = (gp.norm(x) - gp.norm(y)).square().mean()
    kernel = 2 / 20000 * float(phi[0] @ phi[1])
    assert kernel == pytest.approx(math.exp(-apart / (2 * 2.0**2)), abs=0.03)


def test_sngp_s_variance_is_laplace_s_and_makes_unknown_images_uncertain():
    gp = RandomFeatureGP(3, 2, num_features=16).eval()
    nn.init.normal_(gp.linear.weight, std=3)
    known = torch.randn(200, 1) * 0.05 + torch.tensor([1.0, 0.0, -1.0])
    logits = gp.linear(gp.random_features(known))
    gp.fit(known)
    phi, top = gp.random_features(known).double(), logits.softmax(1).amax(1).double()
    slow = torch.eye(16).double()
    for row, p in zip(phi, top, strict=True):
        slow += p * (1 - p) * torch.outer(row, row)
    torch.testing.assert_close(gp.covariance.double(), slow.inverse(), rtol=1e-4, atol=1e-6)
    far = torch.tensor([[-1.0, 2.0, -1.0]])
    with torch.no_grad():
        shrunk = [gp(x).norm() / gp.linear(gp.random_features(x)).norm() for x in (known[:1], far)]
    assert float(shrunk[1]) < float(shrunk[0]) < 1
    gp.train()
    assert torch.equal(gp(far), gp.linear(gp.random_features(far)))


def test_ddu_s_energy_is_the_density_of_the_features_and_probabilities_stay():
    features = torch.randn(300, 4) @ torch.randn(4, 4)
    labels = torch.arange(300) % 3
    features = features + labels[:, None]
    head = DensityHead(4, 3, jitter=1e-9)
    head.fit(features, labels)
    before = head.linear(features).softmax(1)
    logits = head.eval()(features)
    torch.testing.assert_close(logits.softmax(1), before)
    laws = [
        torch.distributions.MultivariateNormal(rows.mean(0), torch.cov(rows.T))
        for rows in (features[labels == label] for label in range(3))
    ]
    slow = torch.stack([law.log_prob(features) - math.log(3) for law in laws]).logsumexp(0)
    torch.testing.assert_close(logits.logsumexp(1), slow, rtol=1e-3, atol=1e-3)
    far = head(features + 50).detach()
    assert float(far.logsumexp(1).max()) < float(logits.detach().logsumexp(1).min())
    with pytest.raises(ValueError, match="at least 2 training images, got 1 of class 2"):
        head.fit(features[:3].repeat(2, 1)[:5], torch.tensor([0, 1, 2, 0, 1]))


def test_duq_s_kernel_is_one_at_a_centroid_and_centroids_are_moving_averages():
    head = RBFHead(5, 3, num_outputs=2, momentum=0.5)
    features, labels = torch.randn(6, 5), torch.tensor([0, 1, 0, 1, 2, 2])
    sums, counts = head.sums.clone(), head.counts.clone()
    log_k = head.train()(features).detach()
    weight = head.weight.detach()
    centroids = sums / counts[:, None]
    for row in range(6):
        for label in range(3):
            apart = (weight[label] @ features[row] - centroids[label]).square().mean()
            assert float(log_k[row, label]) == pytest.approx(float(-apart / 0.02), rel=1e-4)
    head.update(labels)
    first = head.weight[0] @ (features[0] + features[2])
    torch.testing.assert_close(head.sums[0], (sums[0] + first) / 2)
    assert head.counts[0] == (counts[0] + 2) / 2
    with pytest.raises(ValueError, match="update must follow a training forward pass"):
        head.update(labels)


def test_duq_s_loss_is_binary_cross_entropy_and_a_gradient_of_length_one_costs_nothing():
    log_k = -torch.rand(4, 3)
    label = SoftLabel(torch.tensor([0, 1, 2, 0]), torch.tensor([1.0, 0.5, 0.0, 1.0]))
    expected = F.binary_cross_entropy(log_k.exp(), label.dense(3), reduction="none").mean(1)
    torch.testing.assert_close(RBFLoss()(log_k, label), expected)
    for slope, penalty in ((1.0, 0.0), (2.0, 0.75 * 9)):
        images = torch.full((1, 1, 1, 1), 0.5, requires_grad=True)
        k = 0.3 + slope * (images.flatten(1) - 0.5)  # its gradient has this length
        log_k = torch.cat([k.log(), torch.full((1, 1), -5.0)], 1)
        plain = RBFLoss()(log_k, torch.tensor([0]))
        assert float(RBFLoss()(log_k, torch.tensor([0]), images) - plain) == pytest.approx(
            penalty, abs=1e-5
        )
        scaled = RBFLoss()(log_k, torch.tensor([0]), images, scale=slope)
        assert float(scaled - plain) == pytest.approx(0, abs=1e-5)
