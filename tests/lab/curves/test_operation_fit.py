"""The curve of an operation, its errors and its table, from simulated predictions."""

import pytest
import torch

from softaug.lab.curves.fit import OperationFit, as_table, fit_all, fit_operation
from softaug.lab.curves.measure import Measured
from softaug.transforms.curves import Curve, TableCurve

X = torch.arange(1, 10, dtype=torch.float64) / 9


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
