"""One evaluation as a comparison with one arm and no pairs."""

from softaug.metrics import estimate
from softaug.report.evaluation.shapes import Arm, Comparison, Estimate, Evaluation, Measure

_ORDEALS = {"occlusion": "{:.0%} hidden", "shift": "{:.0%} left in frame", "noise": "noise {:g}"}


def as_comparison(evaluation: Evaluation) -> Comparison:
    """What compare would write of this evaluation alone."""
    rows = [*_on_test(evaluation), *_robustness(evaluation), *_second_sets(evaluation)]
    values = {measure["key"]: [value] for measure, value in rows}
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
        "measures": [measure for measure, _ in rows],
        "arms": [arm],
        "pairs": [],
        "environment": evaluation["environment"],
    }


def _estimate(values: list[float]) -> Estimate:
    found = estimate(values)
    return {"mean": found.mean, "se": found.se, "n": found.n}


def _measure(key: str, label: str, digits: int = 2, higher: bool = False) -> Measure:
    percent = label.endswith("%")
    return {
        "key": key,
        "label": label,
        "percent": percent,
        "digits": digits,
        "higher_is_better": higher,
    }


def _on_test(evaluation: Evaluation) -> list[tuple[Measure, float]]:
    test = evaluation["sets"]["test"]
    before, after = test["before"], test["after"]
    return [
        (_measure("error", "Error, %"), test["error"]),
        (_measure("top5_error", "Top-5 error, %"), test["top5_error"]),
        (_measure("nll", "NLL", 3), before["nll"]),
        (_measure("brier", "Brier score", 3), before["brier"]),
        (_measure("ece_10", "ECE (10 bins), %"), before["ece_10"]),
        (_measure("ece_15", "ECE (15 bins), %"), before["ece_15"]),
        (_measure("ece_15_mass", "ECE (15 equal masses), %"), before["ece_15_mass"]),
        (_measure("nll_scaled", "NLL, scaled", 3), after["nll"]),
        (_measure("ece_15_scaled", "ECE (15 bins), scaled, %"), after["ece_15"]),
    ]


def _robustness(evaluation: Evaluation) -> list[tuple[Measure, float]]:
    """Accuracy at each level of each ordeal but the first, which does nothing."""
    found = []
    for name, ordeal in evaluation["robustness"].items():
        words = _ORDEALS.get(name, name.replace("{", "{{").replace("}", "}}") + " {:g}")
        levels = zip(ordeal["levels"][1:], ordeal["accuracy"][1:], strict=True)
        for level, accuracy in levels:
            label = f"Accuracy, {words.format(level)}, %"
            found.append((_measure(f"{name}/{level:g}", label, 1, higher=True), accuracy))
    return found


def _second_sets(evaluation: Evaluation) -> list[tuple[Measure, float]]:
    found = []
    for name, other in evaluation["sets"].items():
        if name != "test":
            ece = other["before"]["ece_15"]
            found.append((_measure(f"{name}/error", f"{name}: error, %"), other["error"]))
            found.append((_measure(f"{name}/ece_15", f"{name}: ECE (15 bins), %"), ece))
    return found
