"""What a trained model is measured by: pure functions on predictions and images."""

from softaug.metrics.accuracy import error, nll
from softaug.metrics.calibration import Reliability, calibration_error, reliability
from softaug.metrics.occlusion import occlude

__all__ = ["Reliability", "calibration_error", "error", "nll", "occlude", "reliability"]
