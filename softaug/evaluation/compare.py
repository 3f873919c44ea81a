"""Comparing runs: arms of several seeds, differences, and what they show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from softaug.checks import refuse
from softaug.evaluation.evaluate import PREDICTIONS, read_evaluation
from softaug.files import write_json
from softaug.metrics import (
    Estimate,
    Interval,
    Verdict,
    bootstrap_difference,
    estimate,
    image_brier,
    image_error,
    image_nll,
    paired_difference,
    verdict,
)
from softaug.recipes import differences
from softaug.training.environment import environment

SCHEMA = 1
COMPARISON = "comparison.json"


@dataclass(frozen=True)
class Measure:
    """A number of an evaluation, where it stands in it, and how it is shown."""

    key: str
    label: str
    path: tuple[str | int, ...]
    percent: bool = True
    digits: int = 2
    higher_is_better: bool = False

    def of(self, evaluation: Mapping[str, Any]) -> float:
        """Its value in an evaluation."""
        value: Any = evaluation
        for part in self.path:
            value = value[part]
        return float(value)


_TEST = ("sets", "test")
MEASURES = (
    Measure("error", "Error, %", (*_TEST, "error")),
    Measure("top5_error", "Top-5 error, %", (*_TEST, "top5_error")),
    Measure("nll", "NLL", (*_TEST, "before", "nll"), percent=False, digits=3),
    Measure("brier", "Brier score", (*_TEST, "before", "brier"), percent=False, digits=3),
    Measure("ece_10", "ECE (10 bins), %", (*_TEST, "before", "ece_10")),
    Measure("ece_15", "ECE (15 bins), %", (*_TEST, "before", "ece_15")),
    Measure("ece_15_mass", "ECE (15 equal masses), %", (*_TEST, "before", "ece_15_mass")),
    Measure("nll_scaled", "NLL, scaled", (*_TEST, "after", "nll"), percent=False, digits=3),
    Measure("ece_15_scaled", "ECE (15 bins), scaled, %", (*_TEST, "after", "ece_15")),
)
_PER_IMAGE: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "error": image_error,
    "nll": image_nll,
    "brier": lambda logits, labels: image_brier(logits.softmax(1), labels),
}  # not ECE: it is biased upward by the spread of confidence, so its difference is no fair test


def compare_runs(folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Compare evaluated runs; those of one name are an arm, the first arm is the baseline.

    Writes `out`/comparison.json.
    """
    if not folders:
        refuse("compare", "at least one evaluated run must be given", "none")
    arms = _arms(folders)
    every = [evaluation for _, evaluation in (pair for arm in arms.values() for pair in arm)]
    _check_same_test(every)
    measures = [*MEASURES, *_robustness(every[0]), *_second_sets(every)]
    first, *others = arms
    found = {
        "schema": SCHEMA,
        "kind": "comparison",
        "measures": [_shown(measure) for measure in measures],
        "arms": [_describe_arm(name, arm, measures) for name, arm in arms.items()],
        "pairs": [_pair(name, arms[name], first, arms[first], measures) for name in others],
        "environment": environment(),
    }
    write_json(found, out / COMPARISON)
    return found


Arm = Sequence[tuple[Path, dict[str, Any]]]


def _arms(folders: Sequence[Path]) -> dict[str, list[tuple[Path, dict[str, Any]]]]:
    arms: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for folder in folders:
        evaluation = read_evaluation(folder)
        arms.setdefault(evaluation["name"], []).append((folder, evaluation))
    for name, arm in arms.items():
        seeds = [_seed(evaluation) for _, evaluation in arm]
        if len(set(seeds)) < len(seeds):
            rule = f"runs of {name} must have different seeds"
            refuse("compare", rule, seeds, "give each changed run a --name of its own")
        _check_same_recipe(name, [evaluation["recipe"] for _, evaluation in arm])
    return arms


def _check_same_recipe(name: str, recipes: Sequence[Mapping[str, Any]]) -> None:
    for other in recipes[1:]:
        changed = [d for d in differences(recipes[0], other) if not d.startswith("seed: ")]
        if changed:
            rule = f"runs called {name} must differ in nothing but the seed"
            refuse("compare", rule, "; ".join(changed), "give a changed run a --name of its own")


def _seed(evaluation: Mapping[str, Any]) -> int:
    return int(evaluation["members"][0]["seed"])


def _check_same_test(evaluations: Sequence[Mapping[str, Any]]) -> None:
    first = evaluations[0]
    for other in evaluations[1:]:
        same = (
            other["class_names"] == first["class_names"]
            and other["sets"]["test"]["n"] == first["sets"]["test"]["n"]
        )
        if not same:
            rule = "runs must be measured on the same images"
            refuse("compare", rule, f"{other['name']} and {first['name']} that were not")


def _robustness(evaluation: Mapping[str, Any]) -> list[Measure]:
    """Accuracy at each level of each ordeal but the first, which does nothing."""
    words = {"occlusion": "{:.0%} hidden", "shift": "{:.0%} left in frame", "noise": "noise {:g}"}
    return [
        Measure(
            f"{name}/{level:g}",
            f"Accuracy, {words[name].format(level)}, %",
            ("robustness", name, "accuracy", place),
            digits=1,
            higher_is_better=True,
        )
        for name, result in evaluation["robustness"].items()
        for place, level in enumerate(result["levels"])
        if place > 0
    ]


def _second_sets(evaluations: Sequence[Mapping[str, Any]]) -> list[Measure]:
    """Error and ECE of the second test sets that all were measured on."""
    common = [n for n in evaluations[0]["sets"] if all(n in e["sets"] for e in evaluations)]
    return [
        Measure(f"{name}/{key}", f"{name}: {label}", ("sets", name, *path))
        for name in common
        if name != "test"
        for key, label, path in (
            ("error", "error, %", ("error",)),
            ("ece_15", "ECE (15 bins), %", ("before", "ece_15")),
        )
    ]


def _shown(measure: Measure) -> dict[str, Any]:
    return {name: value for name, value in asdict(measure).items() if name != "path"}


def _describe_arm(name: str, arm: Arm, measures: Sequence[Measure]) -> dict[str, Any]:
    values = {m.key: [m.of(evaluation) for _, evaluation in arm] for m in measures}
    return {
        "name": name,
        "seeds": [_seed(evaluation) for _, evaluation in arm],
        "values": values,
        "estimates": {key: asdict(estimate(numbers)) for key, numbers in values.items()},
        "evaluations": [evaluation for _, evaluation in arm],
    }


def _pair(
    name: str, arm: Arm, against_name: str, against: Arm, measures: Sequence[Measure]
) -> dict[str, Any]:
    """One arm minus another: over the seeds both have, and over the images of one such pair."""
    ours, theirs = ({_seed(e): (folder, e) for folder, e in side} for side in (arm, against))
    common = [seed for seed in ours if seed in theirs]
    by_seed = {
        m.key: paired_difference(
            {seed: m.of(ours[seed][1]) for seed in common},
            {seed: m.of(theirs[seed][1]) for seed in common},
        )
        for m in measures
        if common
    }
    mine, other = (ours[common[0]], theirs[common[0]]) if common else (arm[0], against[0])
    by_image = _by_image(mine[0], other[0])
    verdicts = {
        m.key: _judge(by_seed.get(m.key), by_image.get(m.key), m.higher_is_better) for m in measures
    }
    return {
        "arm": name,
        "against": against_name,
        "seeds": common,
        "by_seed": {key: asdict(value) for key, value in by_seed.items()},
        "by_image": {key: asdict(value) for key, value in by_image.items()},
        "verdicts": {key: {**asdict(v), "text": str(v)} for key, v in verdicts.items()},
    }


def _judge(by_seed: Estimate | None, by_image: Interval | None, higher_is_better: bool) -> Verdict:
    """The verdict; without a seed in common nothing is shown of what is no mean over images."""
    if by_seed is None and by_image is None:
        return Verdict("not tested", 0, "seeds")
    return verdict(by_seed, by_image, higher_is_better=higher_is_better)


def _read_predictions(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (OSError, SafetensorError) as broken:
        refuse("compare", f"{path} must be readable", broken, "run `softaug evaluate` again")


def _by_image(ours: Path, theirs: Path) -> dict[str, Interval]:
    """Paired bootstrap over the test images, for what is a mean over them."""
    first, second = (_read_predictions(folder / PREDICTIONS) for folder in (ours, theirs))
    labels = first["test_labels"]
    if not labels.equal(second["test_labels"]):
        refuse("compare", "runs must be measured on the same images", f"{ours} and {theirs}")
    found = {}
    for key, per_image in _PER_IMAGE.items():
        mine, other = (per_image(side["test_logits"], labels) for side in (first, second))
        found[key] = bootstrap_difference(mine, other)
    return found
