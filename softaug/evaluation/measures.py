"""Everything that is computed from logits and labels, as plain numbers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from softaug.metrics import (
    apply_temperature,
    calibration_summary,
    class_brier,
    class_count,
    class_error,
    class_nll,
    confusion,
    error,
    fit_temperature,
    reliability,
)

DIGITS = 6


def measures(logits: Tensor, labels: Tensor, scaled: Tensor) -> dict[str, Any]:
    """Errors and calibration; `scaled` are the logits after temperature scaling."""
    return {
        "n": len(labels),
        "error": float(error(logits, labels)),
        "top5_error": float(error(logits, labels, top=min(5, logits.shape[1]))),
        "before": _calibration(logits, labels),
        "after": _calibration(scaled, labels),
        "reliability": {
            "before": _reliability(logits, labels),
            "after": _reliability(scaled, labels),
        },
        "histogram": confidence_histogram(logits, labels),
    }


def _calibration(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Every calibration figure of logits that are scaled already."""
    found = calibration_summary(logits, labels)
    return {name: value for name, value in found.items() if name != "temperature"}


def per_class(logits: Tensor, labels: Tensor) -> dict[str, Any]:
    """Images, error, NLL and Brier score of each class (None where it has no image), and the
    confusion matrix.
    """
    num_classes = logits.shape[1]
    return {
        "count": class_count(labels, num_classes).tolist(),
        "error": _known(class_error(logits, labels)),
        "nll": _known(class_nll(logits, labels)),
        "brier": _known(class_brier(logits.softmax(1), labels)),
        "confusion": confusion(logits, labels).tolist(),
    }


def _known(values: Tensor) -> list[float | None]:
    """Rounded numbers; None for NaN, which JSON has not."""
    return [None if value != value else round(value, DIGITS) for value in values.tolist()]


def confidence_histogram(logits: Tensor, labels: Tensor, bins: int = 20) -> dict[str, list[int]]:
    """How many right and wrong answers were given with which confidence, in equal bins."""
    confidence, answer = logits.softmax(1).max(1)
    place = (confidence * bins).long().clamp_max(bins - 1)
    right = answer == labels
    return {
        "right": torch.bincount(place[right], minlength=bins).tolist(),
        "wrong": torch.bincount(place[~right], minlength=bins).tolist(),
    }


def halves_temperatures(logits: Tensor, labels: Tensor) -> list[float]:
    """For each half of the images, every other one, the temperature that suits the other half.

    So no image is scaled by a temperature that has seen it.
    """
    return [fit_temperature(logits[1 - mine :: 2], labels[1 - mine :: 2]) for mine in (0, 1)]


def scale(logits: Tensor, temperatures: Sequence[float]) -> Tensor:
    """Logits after temperature scaling; of T temperatures, image i takes that at i modulo T."""
    scaled, num = logits.clone(), len(temperatures)
    for place, temperature in enumerate(temperatures):
        scaled[place::num] = apply_temperature(logits[place::num], temperature)
    return scaled


def _reliability(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    found = reliability(logits.softmax(1), labels, bins=15)._asdict()
    return {
        name: [round(value, DIGITS) for value in values.tolist()] for name, values in found.items()
    }
