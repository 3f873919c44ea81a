"""What a trained model is measured by: pure functions on predictions and images."""

from softaug.metrics.calibration import (
    Reliability,
    apply_temperature,
    calibration_error,
    calibration_summary,
    class_calibration_error,
    confidence_gap,
    fit_temperature,
    image_gap,
    max_calibration_error,
    reliability,
    sum_gaps,
)
from softaug.metrics.classification import (
    brier,
    class_count,
    class_mean,
    confusion_matrix,
    ensemble_logits,
    error,
    image_brier,
    image_error,
    image_nll,
    nll,
)
from softaug.metrics.corruptions import add_noise, occlude, shift_images
from softaug.metrics.knn import knn_accuracy, knn_predict

__all__ = [
    "Reliability",
    "add_noise",
    "apply_temperature",
    "brier",
    "calibration_error",
    "calibration_summary",
    "class_calibration_error",
    "class_count",
    "class_mean",
    "confidence_gap",
    "confusion_matrix",
    "ensemble_logits",
    "error",
    "fit_temperature",
    "image_brier",
    "image_error",
    "image_gap",
    "image_nll",
    "knn_accuracy",
    "knn_predict",
    "max_calibration_error",
    "nll",
    "occlude",
    "reliability",
    "shift_images",
    "sum_gaps",
]
