"""Everything that is computed from logits and labels, as plain numbers."""

from typing import Any

import torch
from torch import Tensor

from softaug.metrics import (
    apply_temperature,
    bootstrap_interval,
    calibration_summary,
    class_count,
    class_error,
    confusion,
    error,
    fit_temperature,
    image_brier,
    image_error,
    image_gap,
    image_nll,
    reliability,
    summed_gap,
)

DIGITS = 6


def measures(logits: Tensor, labels: Tensor, scaled: Tensor) -> dict[str, Any]:
    """Errors and calibration with their 95 % intervals; `scaled` are the logits after scaling."""
    return {
        "n": len(labels),
        "error": float(error(logits, labels)),
        "top5_error": float(error(logits, labels, top=min(5, logits.shape[1]))),
        "before": _calibration(logits, labels),
        "after": _calibration(scaled, labels),
        "intervals": intervals(logits, labels),
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


def intervals(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    """95 % bootstrap intervals over images, before temperature scaling."""
    probs = logits.softmax(1)
    found = {
        "error": bootstrap_interval(image_error(logits, labels)),
        "nll": bootstrap_interval(image_nll(logits, labels)),
        "brier": bootstrap_interval(image_brier(probs, labels)),
        "ece_15": bootstrap_interval(image_gap(probs, labels), summed_gap),
    }
    return {name: [interval.low, interval.high] for name, interval in found.items()}


def per_class(logits: Tensor, labels: Tensor) -> dict[str, Any]:
    """Images and error of each class (None where it has no image), and the confusion matrix."""
    num_classes = logits.shape[1]
    errors = class_error(logits, labels, num_classes).tolist()
    return {
        "count": class_count(labels, num_classes).tolist(),
        "error": [None if value != value else round(value, DIGITS) for value in errors],
        "confusion": confusion(logits, labels).tolist(),
    }


def confidence_histogram(logits: Tensor, labels: Tensor, bins: int = 20) -> dict[str, list[int]]:
    """How many right and wrong answers were given with which confidence, in equal bins."""
    confidence, answer = logits.softmax(1).max(1)
    place = (confidence * bins).long().clamp_max(bins - 1)
    right = answer == labels
    return {
        "right": torch.bincount(place[right], minlength=bins).tolist(),
        "wrong": torch.bincount(place[~right], minlength=bins).tolist(),
    }


def scale_by_held_out(
    logits: Tensor, held_out: Tensor, labels: Tensor
) -> tuple[Tensor, list[float]]:
    """Logits scaled by the temperature that suits other, held-out images."""
    temperature = fit_temperature(held_out, labels)
    return apply_temperature(logits, temperature), [temperature]


def scale_by_halves(logits: Tensor, labels: Tensor) -> tuple[Tensor, list[float]]:
    """Logits of each half scaled by the temperature that suits the other half.

    So no image is scaled by a temperature that has seen it. Halves are every other image.
    """
    scaled, temperatures = logits.clone(), []
    for mine in (0, 1):
        other = fit_temperature(logits[1 - mine :: 2], labels[1 - mine :: 2])
        scaled[mine::2] = apply_temperature(logits[mine::2], other)
        temperatures.append(other)
    return scaled, temperatures


def _reliability(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    found = reliability(logits.softmax(1), labels, bins=15)._asdict()
    return {
        name: [round(value, DIGITS) for value in values.tolist()] for name, values in found.items()
    }
