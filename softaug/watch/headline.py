"""The one number that a finished run is known by."""

import math
from typing import Any, NamedTuple


class Headline(NamedTuple):
    """A share in 0..1 and what it is."""

    value: float
    measure: str


def of_evaluation(evaluation: Any) -> Headline:
    """The error that an evaluation measured; without labels, that of the linear probe."""
    probed = "linear probe, " if "features" in evaluation else ""
    split = evaluation["split"]
    return _headline(evaluation["sets"][split]["error"], f"{probed}{split} error")


def of_result(result: Any) -> Headline:
    """The error at the end of training; without labels, that of nearest neighbours."""
    if "error" in result:
        return _headline(result["error"], f"{result['split']} error")
    return _headline(result["knn_error"], f"{result['split']} error of nearest neighbours")


def _headline(value: Any, measure: str) -> Headline:
    if not math.isfinite(value):
        raise ValueError(f"{measure} is {value}")
    return Headline(float(value), measure)
