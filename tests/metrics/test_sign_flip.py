import itertools
import math

import pytest
import torch
from scipy.stats import binomtest, permutation_test

from softaug.metrics import sign_flip_test


def slow_p(values):
    """Share of all signs whose |sum| is at least the observed."""
    observed = abs(sum(values))
    signs = list(itertools.product([-1, 1], repeat=len(values)))
    sums = [abs(sum(s * v for s, v in zip(row, values, strict=True))) for row in signs]
    return sum(found >= observed - 1e-12 for found in sums) / len(signs)


@pytest.mark.parametrize("num", [1, 2, 3, 5, 9])
def test_few_differences_are_exact(num) -> None:
    values = torch.randn(num, generator=torch.Generator().manual_seed(num)).tolist()
    assert sign_flip_test(values) == slow_p(values)


def test_equals_scipy() -> None:
    values = [0.3, -0.1, 0.25, 0.4, 0.05, 0.31, -0.2]
    exact = permutation_test((values,), sum, permutation_type="samples", n_resamples=math.inf)
    assert sign_flip_test(values) == pytest.approx(exact.pvalue)


@pytest.mark.parametrize(("gained", "lost"), [(8, 2), (30, 14), (20, 20)])
def test_right_and_wrong_give_mcnemars_test(gained, lost) -> None:
    values = torch.tensor([1.0] * gained + [-1.0] * lost + [0.0] * 500)
    expected = binomtest(gained, gained + lost).pvalue
    assert sign_flip_test(values) == pytest.approx(expected, abs=0.015)  # exact for 10


def test_random_signs_agree_with_all_of_them() -> None:
    values = (torch.randn(13, generator=torch.Generator().manual_seed(0)) + 0.4).tolist()
    assert sign_flip_test(values, num_flips=8000) == pytest.approx(slow_p(values), abs=0.02)


def test_no_difference_gives_one_and_a_clear_one_the_least() -> None:
    assert sign_flip_test([0.0, 0.0]) == 1
    assert sign_flip_test(torch.ones(300), num_flips=999) == 0.001


def test_order_and_sign_do_not_matter() -> None:
    values = [0.3, -0.1, 0.25, 0.4]
    p = sign_flip_test(values)
    assert p == sign_flip_test(values[::-1]) == sign_flip_test([-value for value in values])


@pytest.mark.parametrize("values", [[], [[1.0]], [math.nan, 1.0], [math.inf]])
def test_bad_differences_are_refused(values) -> None:
    with pytest.raises(ValueError, match="sign_flip_test: differences must be"):
        sign_flip_test(values)
