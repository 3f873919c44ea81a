import pytest
import torch

from softaug.pacing.rules import LEAST_K, MOST_K, fit_k

LOST = torch.tensor([0.04, 0.15, 0.35, 0.55, 0.75, 0.95])
EVEN = torch.ones(6)


def accuracy(k, knows=0.7, chance=0.1):
    return chance + knows * (1 - LOST**k)


@pytest.mark.parametrize("k", [0.7, 1.0, 2.0, 3.5, 6.0])
@pytest.mark.parametrize("knows", [0.05, 0.7])
def test_the_k_of_an_exact_curve_is_found_whatever_is_known_of_whole_images(k, knows):
    assert fit_k(LOST, accuracy(k, knows), EVEN, chance=0.1) == pytest.approx(k, rel=0.01)


def test_levels_count_by_their_images():
    bent = accuracy(2.0)
    bent[4] = 0.1
    assert fit_k(LOST, bent, torch.tensor([1e4] * 4 + [1e-3, 1e4]), 0.1) == pytest.approx(
        2, rel=0.02
    )
    assert fit_k(LOST, bent, EVEN, 0.1) < 1.8


def test_it_is_the_best_of_a_slow_search():
    generator = torch.Generator().manual_seed(3)
    noisy = accuracy(2.0) + 0.05 * torch.randn(6, generator=generator)
    num = torch.tensor([50.0, 40.0, 30.0, 20.0, 10.0, 5.0])

    k, knows = torch.arange(0.5, 8, 0.02).view(-1, 1, 1), torch.arange(0, 1, 0.001).view(-1, 1)
    misses = (num * (noisy - 0.1 - knows * (1 - LOST**k)) ** 2).sum(-1)  # [K, A]
    tried = float(k.flatten()[misses.amin(1).argmin()])
    assert fit_k(LOST, noisy, num, chance=0.1) == pytest.approx(tried, rel=0.03)


def test_the_ends_of_the_range_hold():
    assert fit_k(LOST, accuracy(40.0), EVEN, 0.1) == pytest.approx(MOST_K)
    assert fit_k(LOST, accuracy(0.01, knows=20), EVEN, 0.1) == pytest.approx(LEAST_K)


@pytest.mark.parametrize(
    ("num", "knows"), [(torch.zeros(6), 0.7), (torch.eye(6)[2], 0.7), (EVEN, 0.0), (EVEN, -0.05)]
)
def test_where_any_k_would_do_there_is_none(num, knows):
    assert fit_k(LOST, accuracy(2.0, knows, chance=0.25), num, chance=0.25) is None
