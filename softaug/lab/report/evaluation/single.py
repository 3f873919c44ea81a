"""One evaluation as a comparison with one arm and no pairs."""

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report.evaluation.shapes import Arm, Comparison, Estimate, Evaluation


def as_comparison(evaluation: Evaluation) -> Comparison:
    """What compare would write of this evaluation alone."""
    measures = evaluation["measures"]
    values = {measure["key"]: [measure["value"]] for measure in measures}
    arm: Arm = {
        "name": evaluation["name"],
        "seeds": [evaluation["members"][0]["seed"]],
        "values": values,
        "estimates": {key: _estimate(numbers) for key, numbers in values.items()},
        "evaluations": [evaluation],
    }
    return {
        "schema": evaluation["schema"],
        "kind": "comparison",
        "measures": [*measures],
        "calibration": evaluation["calibration"],
        "arms": [arm],
        "pairs": [],
        "command": "",
        "environment": evaluation["environment"],
    }


def _estimate(values: list[float]) -> Estimate:
    found = estimate(values)
    return {"mean": found.mean, "se": found.se, "n": found.n}
