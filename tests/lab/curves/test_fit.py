import pytest
import torch

from softaug.lab.curves.fit import (
    Fitted,
    binomial_error,
    fit_power,
    fit_table_curve,
    level_weights,
    retained_share,
)

X = torch.linspace(0, 1, 10, dtype=torch.float64)[1:]
EVEN = torch.ones(9)


def curve(loss, k):
    return 1 - loss * X**k


def noisy(seed=0):
    noise = torch.randn(9, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (curve(0.6, 3.0) + 0.05 * noise).clamp(0, 1)


@pytest.mark.parametrize(("loss", "k"), [(1, 2), (0.3, 0.5), (0.7, 6), (0.05, 12), (0.5, 0.25)])
def test_a_curve_of_the_family_is_found(loss, k):
    found = fit_power(X, curve(loss, k), EVEN)
    assert float(found.loss) == pytest.approx(loss, abs=1e-5)
    assert float(found.k) == pytest.approx(k, rel=1e-4)


def test_a_noisy_fit_is_that_of_a_search_over_everything():
    kept, weight = noisy(), torch.rand(9, generator=torch.Generator().manual_seed(1)) + 0.1
    best = (float("inf"), 0.0, 0.0)
    for k in torch.linspace(0.25, 16, 631).tolist():  # steps of 0.025
        for loss in torch.linspace(0, 1, 101).tolist():
            miss = float((weight * (kept - curve(loss, k)) ** 2).sum())
            best = min(best, (miss, loss, k))
    found = fit_power(X, kept, weight)
    assert float(found.loss) == pytest.approx(best[1], abs=0.01)
    assert float(found.k) == pytest.approx(best[2], abs=0.05)


def test_weights_say_which_levels_count():
    kept = torch.where(X < 0.5, curve(1, 1.0), curve(1, 3.0))
    early = fit_power(X, kept, (X < 0.5).double() + 1e-6, loss=1.0)
    late = fit_power(X, kept, (X >= 0.5).double() + 1e-6, loss=1.0)
    assert float(early.k) == pytest.approx(1, abs=0.01)
    assert float(late.k) == pytest.approx(3, abs=0.01)


def test_a_given_loss_is_kept():
    found = fit_power(X, curve(0.5, 2.0), EVEN, loss=1.0)
    assert float(found.loss) == 1
    assert float(found.k) > 2, "it loses less than the whole"


def test_rows_are_fitted_one_by_one():
    kept = torch.stack([noisy(seed) for seed in range(4)])
    together = fit_power(X, kept, EVEN)
    for row, own in enumerate(map(fit_power, [X] * 4, kept, [EVEN] * 4)):
        assert (together.loss[row], together.k[row]) == (own.loss, own.k)


def test_an_operation_that_harms_nothing_has_loss_0_and_k_1():
    assert fit_power(X, torch.ones(9), EVEN) == Fitted(torch.tensor(0.0), torch.tensor(1.0))


@pytest.mark.parametrize(("k", "bound"), [(0.05, 0.25), (60, 16)])
def test_k_stays_in_its_range(k, bound):
    assert float(fit_power(X, curve(1.0, k), EVEN).k) == pytest.approx(bound)


def test_what_is_retained_is_clipped_between_chance_and_whole():
    accuracy = torch.tensor([0.9, 0.8, 0.45, 0.1, 0.05])
    found = retained_share(accuracy, torch.tensor(0.8), chance=0.1)
    torch.testing.assert_close(found, torch.tensor([1.0, 1.0, 0.5, 0.0, 0.0]))


def test_the_error_of_an_accuracy_is_the_binomial_one_and_never_0():
    assert float(binomial_error(torch.tensor(0.5), 998)) == pytest.approx((0.25 / 1000) ** 0.5)
    assert float(binomial_error(torch.tensor(1.0), 8)) == pytest.approx((0.9 * 0.1 / 10) ** 0.5)


def test_levels_of_a_curve_of_the_family_weigh_by_their_errors_alone():
    error = torch.linspace(0.01, 0.09, 9)
    weight = level_weights(X, curve(0.6, 3.0), error)
    torch.testing.assert_close(weight, error.double() ** -2, check_dtype=False)


def test_what_no_curve_fits_counts_as_an_error_of_each_level():
    error, kept = torch.full((9,), 1e-9), (X < 0.5).double()  # a step
    even = fit_power(X, kept, EVEN)
    missed = kept - (1 - even.loss * X**even.k)
    expected = 1 / ((missed**2).sum() / (9 - 2))
    torch.testing.assert_close(level_weights(X, kept, error), expected.expand(9))


def test_a_table_starts_whole_never_rises_and_stays_between_0_and_1():
    curve = fit_table_curve("visible", [1 / 3, 2 / 3, 1.0], [1.2, 0.4, -0.1], [0.1] * 3)
    assert curve.lost == pytest.approx((0, 1 / 3, 2 / 3, 1), abs=1e-6)
    assert curve.retained == (1.0, 1.0, 0.4, 0.0)


@pytest.mark.parametrize(
    ("kept", "error", "pooled"),
    [([0.2, 0.6], [0.1, 0.2], 0.28), ([0.9, 1.0], [0.1, 0.0], 1.0)],  # weights 4 to 1; no error
)
def test_surer_points_of_a_table_count_more(kept, error, pooled):
    assert fit_table_curve("strength", [0.5, 1.0], kept, error).retained[1:] == (pooled, pooled)
