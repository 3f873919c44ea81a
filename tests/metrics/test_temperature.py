import math

import pytest
import torch
from scipy.optimize import minimize_scalar

from softaug.metrics import apply_temperature, error, fit_temperature, nll


def predictions(num=500, classes=10, scale=3.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(num, classes, generator=generator, dtype=torch.float64)
    labels = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    return scale * logits, labels


@pytest.mark.parametrize(("scale", "seed"), [(0.1, 0), (0.5, 1), (1.0, 2), (3.0, 0), (30.0, 1)])
def test_equals_a_general_minimiser(scale, seed) -> None:
    logits, labels = predictions(scale=scale, seed=seed)
    by_search = minimize_scalar(
        lambda log_t: float(nll(logits / math.exp(log_t), labels)),
        bounds=(math.log(0.01), math.log(100)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert fit_temperature(logits, labels) == pytest.approx(math.exp(by_search.x), rel=1e-5)


@pytest.mark.parametrize("sure", [0.6, 0.9, 0.999])
def test_closed_case_of_two_classes(sure) -> None:
    logits = torch.tensor([[math.log(sure / (1 - sure)), 0.0]] * 5)  # right 4 times of 5
    best = math.log(sure / (1 - sure)) / math.log(4)
    labels = torch.tensor([0, 0, 0, 0, 1])
    assert fit_temperature(logits, labels) == pytest.approx(best, rel=1e-6)


def test_it_scales_with_the_logits_whatever_is_added_to_a_row() -> None:
    logits, labels = predictions()
    best = fit_temperature(logits, labels)
    assert fit_temperature(7 * logits, labels) == pytest.approx(7 * best, rel=1e-9)
    moved = logits + 1000 * torch.arange(500)[:, None]
    assert fit_temperature(moved, labels) == pytest.approx(best)


def test_where_no_finite_temperature_is_best_it_is_a_bound_and_one_where_any_would_do() -> None:
    logits, _ = predictions()
    assert fit_temperature(logits, logits.argmax(1)) == 0.01
    assert fit_temperature(logits, logits.argmin(1)) == 100
    assert fit_temperature(torch.full((3, 4), 5.0), torch.tensor([0, 1, 2])) == 1


@pytest.mark.parametrize("huge", [1e3, 1e6, 1e30])
def test_one_wild_sample_does_not_break_the_search(huge) -> None:
    logits, labels = predictions(num=50, classes=3)
    logits[0] = torch.tensor([huge, 0, -huge])
    labels[0] = 1
    assert 0.01 <= fit_temperature(logits, labels) <= 100


def test_applying_keeps_guesses_and_lowers_confidence() -> None:
    logits, labels = predictions()
    cooler = apply_temperature(logits, 2.0)
    assert float(error(cooler, labels)) == float(error(logits, labels))
    assert bool((cooler.softmax(1).amax(1) < logits.softmax(1).amax(1)).all())


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "warm", True])
def test_bad_temperature_is_refused(temperature) -> None:
    with pytest.raises(ValueError, match="apply_temperature: temperature must be"):
        apply_temperature(torch.zeros(1, 2), temperature)


@pytest.mark.parametrize(
    ("function", "logits"),
    [
        (lambda logits: apply_temperature(logits, 1.0), [[1.0]]),
        (lambda logits: apply_temperature(logits, 1.0), torch.zeros(1, 2, dtype=torch.long)),
        (lambda logits: fit_temperature(logits, torch.tensor([0])), torch.tensor([[math.nan, 0]])),
    ],
)
def test_bad_logits_are_refused(function, logits) -> None:
    with pytest.raises(ValueError, match="_temperature: logits must be"):
        function(logits)
