import json

import pytest
import torch

from softaug.metrics import (
    brier,
    calibration_error,
    calibration_summary,
    class_calibration_error,
    confidence_gap,
    fit_temperature,
    max_calibration_error,
    nll,
)

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = 3 * torch.randn(400, 6, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.multinomial((LOGITS / 3).softmax(1), 1, generator=GENERATOR)[:, 0]
KEYS = [
    "nll",
    "brier",
    "ece_10",
    "ece_15",
    "ece_15_mass",
    "l2_15_mass_debiased",
    "ece_15_classwise",
    "mce_15",
    "gap",
    "temperature",
]
LEFT_OUT = ("mce_15", "temperature")  # one sample alone may decide the maximum


def test_keys_are_these_and_values_plain_floats() -> None:
    found = calibration_summary(LOGITS, LABELS)
    assert list(found) == KEYS
    assert all(type(value) is float for value in found.values())
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("temperature", [None, 2.5])
def test_each_figure_is_its_functions(temperature) -> None:
    found = calibration_summary(LOGITS, LABELS, temperature)
    scaled = LOGITS / (temperature or 1.0)
    data = scaled.softmax(1), LABELS
    assert found == {
        "nll": float(nll(scaled, LABELS)),
        "brier": float(brier(*data)),
        "ece_10": float(calibration_error(*data, 10)),
        "ece_15": float(calibration_error(*data, 15)),
        "ece_15_mass": float(calibration_error(*data, 15, "mass")),
        "l2_15_mass_debiased": float(calibration_error(*data, 15, "mass", True)),
        "ece_15_classwise": float(class_calibration_error(*data, 15)),
        "mce_15": float(max_calibration_error(*data, 15)),
        "gap": float(confidence_gap(*data)),
        "temperature": temperature or 1.0,
    }


def test_a_fitted_temperature_lowers_the_figures_of_an_over_confident_model() -> None:
    before = calibration_summary(LOGITS, LABELS)
    after = calibration_summary(LOGITS, LABELS, fit_temperature(LOGITS, LABELS))
    assert before["gap"] > 0.1
    assert all(abs(after[key]) < abs(before[key]) for key in KEYS if key not in LEFT_OUT)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_bad_temperature_is_refused(temperature) -> None:
    with pytest.raises(ValueError, match="temperature must be > 0"):
        calibration_summary(LOGITS, LABELS, temperature)


@pytest.mark.filterwarnings("error")
def test_logits_may_carry_a_gradient() -> None:
    found = calibration_summary(LOGITS.clone().requires_grad_(), LABELS)
    assert found == calibration_summary(LOGITS, LABELS)


def test_bad_logits_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="calibration_summary: logits must be finite"):
        calibration_summary(LOGITS / 0, LABELS)
