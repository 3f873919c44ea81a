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
    [
        (1.0, 2, 1.0),
        (0.0, 2, 0.0),
        (0.5, 1, 0.5),
        (0.5, 2, 0.75),
        (0.25, 2, 0.4375),
        (0.5, 3, 0.875),
    ],
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


@given(SHARES, POWERS, st.integers(2, 1000))
def test_confidence_of_retained_is_equation_7(visible, k, num_classes):
    expected = 1 - (1 - 1 / num_classes) * (1 - visible) ** k
    assert confidence(retained(visible, k), num_classes) == pytest.approx(expected, abs=1e-12)


@given(SHARES, SHARES, POWERS)
def test_retained_grows_with_what_is_visible(first, second, k):
    low, high = sorted((first, second))
    assert 0 <= retained(low, k) <= retained(high, k) <= 1


@given(SHARES, POWERS, POWERS)
def test_larger_k_retains_more(visible, first, second):
    low, high = sorted((first, second))
    assert retained(visible, low) <= retained(visible, high)


def test_other_classes_share_the_rest_evenly():
    target = soft_target(
        torch.tensor([1, 3]), torch.tensor([0.6, 0.0]), uniform_prior(4, torch.ones(1))
    )
    expected = torch.tensor([[0.1, 0.7, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    torch.testing.assert_close(target, expected)


def test_rest_of_the_target_follows_the_prior_of_each_sample():
    prior = torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    target = soft_target(torch.tensor([0, 1]), torch.tensor([0.5, 0.25]), prior)
    torch.testing.assert_close(target, torch.tensor([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]))


def test_gradient_flows_through_the_curve():
    visible = torch.tensor([0.25], requires_grad=True)
    retained(visible, k=2).backward()
    assert visible.grad.item() == pytest.approx(1.5)  # k (1 - v)^(k - 1)
