"""What a trained model is measured by: pure functions on predictions and images."""

from softaug.metrics.accuracy import (
    brier,
    error,
    image_brier,
    image_error,
    image_nll,
    nll,
)
from softaug.metrics.bootstrap import (
    bootstrap_difference,
    bootstrap_interval,
    bootstrap_intervals,
)
from softaug.metrics.calibration import (
    Reliability,
    calibration_error,
    class_calibration_error,
    confidence_gap,
    image_gap,
    max_calibration_error,
    reliability,
    summed_gap,
)
from softaug.metrics.classes import class_brier, class_count, class_error, class_nll, confusion
from softaug.metrics.ensemble import ensemble_logits, mean_probabilities
from softaug.metrics.neighbours import knn_accuracy, knn_answers
from softaug.metrics.occlusion import occlude
from softaug.metrics.robustness import noisy, shifted
from softaug.metrics.statistics import (
    Estimate,
    Interval,
    Verdict,
    estimate,
    paired_difference,
    seed_interval,
    verdict,
)
from softaug.metrics.summary import calibration_summary
from softaug.metrics.temperature import apply_temperature, fit_temperature

__all__ = [
    "Estimate",
    "Interval",
    "Reliability",
    "Verdict",
    "apply_temperature",
    "bootstrap_difference",
    "bootstrap_interval",
    "bootstrap_intervals",
    "brier",
    "calibration_error",
    "calibration_summary",
    "class_brier",
    "class_calibration_error",
    "class_count",
    "class_error",
    "class_nll",
    "confidence_gap",
    "confusion",
    "ensemble_logits",
    "error",
    "estimate",
    "fit_temperature",
    "image_brier",
    "image_error",
    "image_gap",
    "image_nll",
    "knn_accuracy",
    "knn_answers",
    "max_calibration_error",
    "mean_probabilities",
    "nll",
    "noisy",
    "occlude",
    "paired_difference",
    "reliability",
    "seed_interval",
    "shifted",
    "summed_gap",
    "verdict",
]
