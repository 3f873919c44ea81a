"""What a trained model is measured by: pure functions on predictions and images."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    smooth_calibration_error,
    sum_gaps,
    sum_smooth_gaps,
)
from softaug.metrics.classification import (
    auroc,
    brier,
    class_count,
    class_mean,
    confusion_matrix,
    ensemble_logits,
    error,
    image_auroc,
    image_brier,
    image_error,
    image_nll,
    max_probability,
    negative_energy,
    nll,
)
from softaug.metrics.corruptions import add_noise, occlude, shift_images

if TYPE_CHECKING:
    from softaug.metrics.common_corruptions import COMMON_CORRUPTIONS, corrupt
    from softaug.metrics.knn import knn_accuracy, knn_predict

__all__ = [
    "COMMON_CORRUPTIONS",
    "Reliability",
    "add_noise",
    "apply_temperature",
    "auroc",
    "brier",
    "calibration_error",
    "calibration_summary",
    "class_calibration_error",
    "class_count",
    "class_mean",
    "confidence_gap",
    "confusion_matrix",
    "corrupt",
    "ensemble_logits",
    "error",
    "fit_temperature",
    "image_auroc",
    "image_brier",
    "image_error",
    "image_gap",
    "image_nll",
    "knn_accuracy",
    "knn_predict",
    "max_calibration_error",
    "max_probability",
    "negative_energy",
    "nll",
    "occlude",
    "reliability",
    "shift_images",
    "smooth_calibration_error",
    "sum_gaps",
    "sum_smooth_gaps",
]

_MODULES = {  # that few evaluations need
    "COMMON_CORRUPTIONS": "common_corruptions",
    "corrupt": "common_corruptions",
    "knn_accuracy": "knn",
    "knn_predict": "knn",
}


def __getattr__(name: str) -> Any:
    """Import a name of `_MODULES` when it is first used (PEP 562)."""
    if name in _MODULES:
        return getattr(import_module(f"softaug.metrics.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'softaug.metrics' has no attribute {name!r}")
