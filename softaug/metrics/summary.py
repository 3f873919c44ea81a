"""Every figure of calibration at once."""

from torch import Tensor

from softaug.metrics.accuracy import brier, nll
from softaug.metrics.calibration import (
    calibration_error,
    class_calibration_error,
    confidence_gap,
    max_calibration_error,
)
from softaug.metrics.scores import check_scores
from softaug.metrics.temperature import apply_temperature


def calibration_summary(
    logits: Tensor, labels: Tensor, temperature: float | None = None
) -> dict[str, float]:
    """The calibration of softmax(logits / temperature) as plain numbers, ECEs as fractions.

    `temperature`: None is 1; fit one on held-out data with `fit_temperature`. Keys: "nll",
    "brier", "ece_10" and "ece_15" (equal width), "ece_15_mass", "l2_15_mass_debiased" (root
    of the debiased square), "ece_15_classwise", "mce_15", "gap" (mean confidence minus
    accuracy), "temperature".

    >>> import torch
    >>> found = calibration_summary(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    >>> found["brier"], found["ece_10"], found["gap"]
    (0.5, 0.5, -0.5)
    """
    scores, labels = check_scores("calibration_summary", "logits", logits, labels)
    used = 1.0 if temperature is None else float(temperature)
    scaled = apply_temperature(scores.detach().double(), used)
    probs = scaled.softmax(1)
    found = {
        "nll": nll(scaled, labels),
        "brier": brier(probs, labels),
        "ece_10": calibration_error(probs, labels, bins=10),
        "ece_15": calibration_error(probs, labels, bins=15),
        "ece_15_mass": calibration_error(probs, labels, bins=15, binning="mass"),
        "l2_15_mass_debiased": calibration_error(
            probs, labels, bins=15, binning="mass", debias=True
        ),
        "ece_15_classwise": class_calibration_error(probs, labels, bins=15),
        "mce_15": max_calibration_error(probs, labels, bins=15),
        "gap": confidence_gap(probs, labels),
    }
    return {name: float(value) for name, value in found.items()} | {"temperature": used}
