"""Power curves by weighted least squares, and one for each class, held toward the common one."""

import pytest
import torch

from softaug.lab.curves.fit import (
    ClassRates,
    Fitted,
    binomial_error,
    class_rates,
    fit_classes,
    fit_power,
    level_weights,
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
        losses = torch.linspace(0, 1, 101, dtype=torch.float64)
        misses = (weight * (kept - 1 + losses[:, None] * X**k) ** 2).sum(1)
        best = min(best, (float(misses.min()), float(losses[misses.argmin()]), k))
    found = fit_power(X, kept, weight)
    assert float(found.loss) == pytest.approx(best[1], abs=0.01)
    assert float(found.k) == pytest.approx(best[2], abs=0.05)


def test_weights_say_which_levels_count():
    kept = torch.where(X < 0.5, curve(1, 1.0), curve(1, 3.0))
    early = fit_power(X, kept, (X < 0.5).double() + 1e-6, loss=1.0)
    late = fit_power(X, kept, (X >= 0.5).double() + 1e-6, loss=1.0)
    assert float(early.k) == pytest.approx(1, abs=0.01)
    assert float(late.k) == pytest.approx(3, abs=0.01)


def test_rows_are_fitted_one_by_one():
    kept = torch.stack([noisy(seed) for seed in range(4)])
    together = fit_power(X, kept, EVEN)
    for row, own in enumerate(map(fit_power, [X] * 4, kept, [EVEN] * 4)):
        assert (together.loss[row], together.k[row]) == (own.loss, own.k)


def test_k_stays_in_its_range_and_is_1_where_nothing_is_lost():
    for k, bound in ((0.05, 0.25), (60, 16)):
        assert float(fit_power(X, curve(1.0, k), EVEN).k) == pytest.approx(bound)
    assert fit_power(X, torch.ones(9), EVEN) == Fitted(torch.tensor(0.0), torch.tensor(1.0))


def test_the_error_of_an_accuracy_is_the_binomial_one_and_never_0():
    assert float(binomial_error(torch.tensor(0.5), 998)) == pytest.approx((0.25 / 1000) ** 0.5)
    assert float(binomial_error(torch.tensor(1.0), 8)) == pytest.approx((0.9 * 0.1 / 10) ** 0.5)


def test_what_no_curve_fits_counts_as_an_error_of_each_level():
    error, kept = torch.full((9,), 1e-9), (X < 0.5).double()  # a step
    even = fit_power(X, kept, EVEN)
    missed = kept - (1 - even.loss * X**even.k)
    expected = 1 / ((missed**2).sum() / (9 - 2))
    torch.testing.assert_close(level_weights(X, kept, error), expected.expand(9))


COMMON = Fitted(torch.tensor(1.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64))
OWN = torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=torch.float64)


def classes(num, whole=0.8):
    """Classes whose own k are OWN, measured on `num` images each, without false alarms."""
    hit = whole * (1 - torch.cat([torch.zeros(1).double(), X]) ** OWN[:, None])
    rates = ClassRates(hit, torch.zeros_like(hit), torch.as_tensor(num).expand(4))
    return fit_classes(X, rates, COMMON, EVEN)


def test_one_who_answers_by_habit_knows_nothing():
    answers = torch.zeros(30, 1, 1, dtype=torch.int32)
    assert class_rates(answers, torch.arange(30) % 10, 10).known.tolist() == [[0.0]] * 10


def test_classes_with_very_many_images_keep_their_own_k_one_without_has_the_common_k():
    torch.testing.assert_close(classes(10**9), OWN, rtol=1e-2, atol=0)
    found = classes([0, 10**9, 10**9, 10**9])
    assert float(found[0]) == 2
    torch.testing.assert_close(found[1:], OWN[1:], rtol=1e-2, atol=0)


def test_a_class_that_is_not_recognized_even_whole_has_the_common_k():
    assert classes(10**6, whole=0.0).tolist() == [2.0] * 4


def test_a_class_with_fewer_images_is_held_closer_to_the_common_k():
    few, many = classes([30, 10**6, 10**6, 30]), classes(10**6)
    assert 1.001 < float(few[0]) < 2
    assert 2 < float(few[3]) < float(many[3])


def test_classes_that_differ_by_less_than_their_errors_share_the_common_k():
    assert classes(3).tolist() == pytest.approx([2.0] * 4)
