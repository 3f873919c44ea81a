import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from softaug import confidence, retained
from softaug.softening import soft_target, uniform_prior

SHARES = st.floats(0, 1)
POWERS = st.floats(0.1, 20)


@pytest.mark.parametrize(
    ("visible", "k", "expected"),
    [(1.0, 2, 1.0), (0.0, 2, 0.0), (0.5, 1, 0.5), (0.25, 2, 0.4375), (0.5, 3, 0.875)],
)
def test_retained_equals_values_worked_by_hand(visible, k, expected):
    assert retained(visible, k) == expected
    assert retained(torch.tensor([visible]), k).item() == expected


@pytest.mark.parametrize(
    ("kept", "num_classes", "expected"),
    [(1.0, 10, 1.0), (0.0, 10, 0.1), (0.5, 2, 0.75), (0.75, 4, 0.8125)],
)
def test_confidence_equals_values_worked_by_hand(kept, num_classes, expected):
    assert confidence(kept, num_classes) == pytest.approx(expected)
    assert confidence(torch.tensor([kept]), num_classes).item() == pytest.approx(expected)


def test_infinite_k_is_hard_augmentation():
    visible = torch.tensor([1.0, 0.5, 1e-3, 0.0])
    assert retained(visible, math.inf).tolist() == [1, 1, 1, 0]
    assert retained(1e-3, math.inf) == 1


@given(SHARES, SHARES, POWERS, POWERS, st.integers(2, 1000))
def test_retained_grows_with_what_is_visible_and_with_k_as_equation_7_says(v, w, k, m, num):
    (low, high), (less, more) = sorted((v, w)), sorted((k, m))
    assert 0 <= retained(low, less) <= retained(high, less) <= retained(high, more) <= 1
    expected = 1 - (1 - 1 / num) * (1 - v) ** k
    assert confidence(retained(v, k), num) == pytest.approx(expected, abs=1e-12)


def test_other_classes_share_the_rest_by_the_prior():
    prior = uniform_prior(4, torch.ones(1))
    target = soft_target(torch.tensor([1, 3]), torch.tensor([0.6, 0.0]), prior)
    expected = torch.tensor([[0.1, 0.7, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    torch.testing.assert_close(target, expected)
    prior = torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])  # of each sample
    target = soft_target(torch.tensor([0, 1]), torch.tensor([0.5, 0.25]), prior)
    torch.testing.assert_close(target, torch.tensor([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]))


def test_gradient_flows_through_the_curve():
    visible = torch.tensor([0.25], requires_grad=True)
    retained(visible, k=2).backward()
    assert visible.grad.item() == pytest.approx(1.5)  # k (1 - v)^(k - 1)
