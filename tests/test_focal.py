"""`SoftLoss(focal_gamma=...)`."""

import math

import pytest
import torch

from softaug import SoftLabel, SoftLoss
from softaug.label import mix_labels

CLASSES = 5
LABELS = torch.tensor([3, 0, 4, 1, 1, 2])
OTHERS = torch.tensor([3, 1, 0, 2, 1, 4])
RETAINED = torch.tensor([1.0, 0.0, 0.25, 0.5, 0.9, 0.01], dtype=torch.float64)
SOFT = SoftLabel(LABELS, RETAINED)
MIXED = mix_labels(SOFT, OTHERS, 0.3)
PRIOR = torch.softmax(torch.arange(25.0).view(5, 5).cos(), 1)
GAMMAS = [0.5, 1.0, 2.0, 5.0]


def make_logits():
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(6, CLASSES, generator=generator, dtype=torch.float64)


def focal(logits, target, gamma):
    """The equation, number by number."""
    probs = logits.softmax(1)
    rows = []
    for t_row, p_row in zip(target, probs, strict=True):
        pairs = [(t, p) for t, p in zip(t_row, p_row, strict=True) if t > 0]
        rows.append(sum(t * t.log() - t * (1 - p) ** gamma * p.log() for t, p in pairs))
    return torch.stack(rows)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_hard_labels_give_the_focal_loss(gamma):
    logits = make_logits()
    p = logits.softmax(1)[torch.arange(6), LABELS]
    found = SoftLoss(reduction="none", focal_gamma=gamma)(logits, LABELS)
    torch.testing.assert_close(found, (1 - p) ** gamma * -p.log())


def test_focal_loss_equals_a_value_worked_by_hand():
    loss = SoftLoss(focal_gamma=2)(torch.zeros(1, 4), torch.tensor([1]))  # (3/4)^2 log 4
    assert loss.item() == pytest.approx(0.5625 * math.log(4))


def dense(labels, kept, table):
    one_hot = torch.nn.functional.one_hot(labels, CLASSES)
    return kept[:, None] * one_hot + (1 - kept[:, None]) * table.double()[labels]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("prior", ["uniform", PRIOR], ids=["uniform", "[C, C]"])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_soft_targets_give_the_equation(mixed, prior, gamma):
    table = torch.full_like(PRIOR, 1 / CLASSES).double() if isinstance(prior, str) else prior
    target = dense(LABELS, RETAINED, table)
    if mixed:
        target = 0.3 * target + 0.7 * dense(OTHERS, torch.ones(6), table)
    loss = SoftLoss("target", prior=prior, reduction="none", focal_gamma=gamma)
    found, expected = (
        loss(make_logits(), MIXED if mixed else SOFT),
        focal(make_logits(), target, gamma),
    )
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("label", [LABELS, SOFT, MIXED], ids=["hard", "soft", "mixed"])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_gradient_is_the_slope_of_the_loss(label, gamma):
    loss = SoftLoss(reduction="none", focal_gamma=gamma)
    assert torch.autograd.gradcheck(lambda x: loss(x, label), make_logits().requires_grad_())


@pytest.mark.parametrize("label", [LABELS, SOFT, MIXED], ids=["hard", "soft", "mixed"])
def test_gamma_zero_keeps_every_bit_of_the_loss(label):
    logits = make_logits().float()
    assert torch.equal(SoftLoss(focal_gamma=0.0)(logits, label), SoftLoss()(logits, label))


@pytest.mark.parametrize("label", [LABELS, SOFT, MIXED], ids=["hard", "soft", "mixed"])
def test_a_vanishing_gamma_nears_the_plain_loss(label):
    logits = make_logits()
    found = SoftLoss(focal_gamma=1e-9)(logits, label)
    torch.testing.assert_close(found, SoftLoss()(logits, label), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("gamma", [0.01, *GAMMAS, 100.0])
def test_sure_predictions_leave_loss_and_gradient_finite(gamma, dtype):
    extremes = [[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [30.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    logits = torch.tensor(extremes, dtype=dtype, requires_grad=True)
    label = SoftLabel(torch.zeros(4, dtype=torch.long), torch.tensor([1.0, 1.0, 1.0, 0.5]))
    loss = SoftLoss(focal_gamma=gamma)(logits, label)
    loss.backward()
    assert loss.isfinite()
    assert bool(logits.grad.isfinite().all())


def test_near_one_the_factor_is_exact_in_float32():
    logits = torch.tensor([[20.0, 0.0]])  # 1 - p = 2.06e-9, below float32's step at 1
    found = SoftLoss(focal_gamma=1.0)(logits, torch.tensor([0]))
    unsure = math.exp(-20) / (1 + math.exp(-20))
    assert found.item() == pytest.approx(unsure * -math.log1p(-unsure), rel=1e-4)


def test_the_repr_shows_gamma_where_there_is_one():
    assert "focal_gamma=2.0" in repr(SoftLoss(focal_gamma=2))


@pytest.mark.parametrize("gamma", [-1, math.inf, math.nan, True, "2", None])
def test_bad_gammas_are_refused(gamma):
    with pytest.raises(ValueError, match=r"SoftLoss: focal_gamma must be a finite number >= 0"):
        SoftLoss(focal_gamma=gamma)
