"""Curves by weighted least squares: powers, tables, of classes, and of simulated predictions."""

import pytest
import torch

from softaug.lab.curves.fit import (
    ClassRates,
    Fitted,
    OperationFit,
    as_table,
    binomial_error,
    class_rates,
    fit_all,
    fit_classes,
    fit_operation,
    fit_power,
    level_weights,
)
from softaug.lab.curves.measure import Measured
from softaug.transforms.curves import Curve, TableCurve

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
    assert class_rates(answers, torch.arange(30) % 10, 10).net_hits.tolist() == [[0.0]] * 10


def test_classes_with_very_many_images_keep_their_own_k_one_without_has_the_common_k():
    torch.testing.assert_close(classes(10**9), OWN, rtol=1e-2, atol=0)
    found = classes([0, 10**9, 10**9, 10**9])
    assert float(found[0]) == 2
    torch.testing.assert_close(found[1:], OWN[1:], rtol=1e-2, atol=0)
    assert classes(10**6, whole=0.0).tolist() == [2.0] * 4  # not recognized even whole


def test_a_class_with_fewer_images_is_held_closer_to_the_common_k():
    few, many = classes([30, 10**6, 10**6, 30]), classes(10**6)
    assert 1.001 < float(few[0]) < 2
    assert 2 < float(few[3]) < float(many[3])


def test_classes_that_differ_by_less_than_their_errors_share_the_common_k():
    assert classes(3).tolist() == pytest.approx([2.0] * 4)


def simulated(name="color", loss=0.6, k=3.0, num=20_000, own=None, seed=0):
    """Images of 10 classes, of which 80 % are accuracy whole; `own` is a k for each class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(num) % 10
    power = torch.full((num, 1), k) if own is None else torch.tensor(own)[labels][:, None]
    kept = 1 - loss * X ** power.double()
    luck = torch.rand(num, 1, generator=generator, dtype=torch.float64)  # the same at all levels
    wrong = (labels + torch.randint(1, 10, (num,), generator=generator)) % 10
    corrupted = answers(luck < 0.1 + 0.7 * kept, labels, wrong)
    return Measured(10, labels, X, answers(luck < 0.8, labels, wrong), {name: corrupted})


def answers(right, labels, wrong):
    """The true class where it is accuracy [N, F], else the wrong one, [N, F, 1]."""
    return torch.where(right, labels[:, None], wrong[:, None]).int()[..., None]


def test_a_known_curve_is_found_within_its_errors():
    found = fit_all(simulated(), per_class=False)["color"]
    assert found.curve.of == "strength"
    assert abs(found.curve.loss - 0.6) < 3 * found.loss_error
    assert abs(found.common_k - 3) < 3 * found.k_error


def test_errors_are_the_spread_over_other_images():
    fits = [fit_operation(simulated(num=1000, seed=s), "color", False) for s in range(8)]
    spread = torch.tensor([fit.curve.k for fit in fits]).std()
    claimed = torch.tensor([fit.k_error for fit in fits]).mean()
    assert 0.5 < float(claimed / spread) < 2


def test_a_crop_is_of_what_is_visible_and_ends_at_chance():
    found = fit_operation(simulated("crop", loss=0.9), "crop", per_class=False)
    assert (found.curve.of, found.curve.loss, found.loss_error) == ("visible", 1.0, None)


def stepped():
    """Images of which nothing is lost up to x = 0.5, then all."""
    measured = simulated()
    blind = torch.zeros_like(measured.whole)
    step = torch.where(X[:, None] < 0.5, measured.whole, blind)
    return measured._replace(corrupted={"color": step})


def test_a_table_follows_what_the_family_misses():
    assert fit_operation(simulated(), "color", False).misfit < 0.02
    power = fit_operation(stepped(), "color", False)
    assert power.misfit > 0.1
    found = as_table(power)
    assert isinstance(found.curve, TableCurve)
    assert found.curve.retained[1:] == pytest.approx([1, 1, 1, 1, 0, 0, 0, 0, 0], abs=1e-4)
    assert found.misfit < 1e-4
    assert (found.loss, found.common_k) == (power.loss, power.common_k)


@pytest.mark.parametrize(
    ("kept", "error", "table"),
    [
        ([0.2, 0.6], [0.1, 0.2], [0.28, 0.28]),  # weights 4 to 1
        ([0.9, 1.0], [0.1, 0.0], [1.0, 1.0]),  # no error
        ([1.2, -0.1], [0.1, 0.1], [1.0, 0.0]),
    ],
)
def test_a_table_weighs_its_points_by_their_errors_and_stays_between_0_and_1(kept, error, table):
    power = Curve("strength", 1.0, 2.0)
    points = [0.5, 1.0], [0.5] * 2, [0.1] * 2, kept, error
    found = as_table(OperationFit(power, 1.0, 2.0, None, 0.1, 0.1, *points)).curve
    assert found == TableCurve("strength", (0.0, 0.5, 1.0), (1.0, *table))


@pytest.mark.parametrize(
    ("loss", "k", "bounds"),
    [(1.05, 2.0, (True, False)), (0.5, 40.0, (False, True)), (0.0, 3.0, (True, True))],
)
def test_a_parameter_at_its_bound_has_no_error(loss, k, bounds):
    luck = torch.arange(20_000) // 10 / 2000  # without noise
    labels = torch.arange(20_000) % 10
    wrong, kept = (labels + 1) % 10, 1 - loss * X**k
    right = luck[:, None] < 0.1 + 0.7 * kept
    whole = answers(luck[:, None] < 0.8, labels, wrong)
    corrupted = {"color": answers(right, labels, wrong)}
    found = fit_operation(Measured(10, labels, X, whole, corrupted), "color", per_class=False)
    assert (found.loss_error is None, found.k_error is None) == bounds
    assert found.about()["loss_error"] == (None if bounds[0] else round(found.loss_error, 4))


def test_classes_with_many_images_get_their_own_k():
    own = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0]
    found = fit_operation(simulated(own=own, loss=1.0, num=100_000), "color", per_class=True)
    assert found.curve.k == pytest.approx(own, rel=0.15)


def test_a_class_that_blind_networks_favour_gets_no_k_for_it():
    """The network answers 0 wherever it does not recognise an image; k is 2 for all."""
    labels, wrong = torch.arange(50_000) % 10, torch.zeros(50_000).long()
    generator = torch.Generator().manual_seed(0)
    luck = torch.rand(50_000, 1, generator=generator, dtype=torch.float64)
    corrupted = {"color": answers(luck < 0.8 * (1 - X**2), labels, wrong)}
    measured = Measured(10, labels, X, answers(luck < 0.8, labels, wrong), corrupted)
    found = fit_operation(measured, "color", per_class=True)
    assert found.common_k == pytest.approx(2, rel=0.02)
    assert found.curve.k == pytest.approx([2.0] * 10, rel=0.05)


def test_networks_that_only_guess_are_refused():
    guess = simulated()._replace(whole=torch.zeros(20_000, 1, 1).int())
    with pytest.raises(ValueError, match=r"better than chance, 0\.100, got 0\.100 of 20000 images"):
        fit_all(guess, per_class=False)
