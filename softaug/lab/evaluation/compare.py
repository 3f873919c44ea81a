"""Comparing runs: arms of several seeds, differences, and what they show."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from softaug.checks import refuse
from softaug.lab.evaluation.evaluate import (
    SCHEMA,
    check_predictions,
    compare_command,
    read_evaluation,
    read_predictions,
    shown_path,
)
from softaug.lab.evaluation.measures import image_values
from softaug.lab.evaluation.stats import (
    Estimate,
    Interval,
    Verdict,
    bootstrap_intervals,
    estimate,
    paired_difference,
    verdict,
)
from softaug.lab.io import write_json
from softaug.lab.recipes.serialize import as_of_today, differences
from softaug.lab.training.logging import environment

COMPARISON = "comparison.json"
Evaluated = Mapping[str, Any]  # the content of evaluation.json
Arm = Sequence[tuple[Path, Evaluated]]


def compare_runs(folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Compare evaluated runs; those of one name are an arm, the first arm is the baseline.

    Writes `out`/comparison.json.
    """
    if not folders:
        refuse("compare", "at least one evaluated run must be given", "none")
    arms = _arms(folders)
    every = [evaluation for arm in arms.values() for _, evaluation in arm]
    _check_same_images(every)
    measures = _common_measures(every)
    first, *others = arms
    found = {
        "schema": SCHEMA,
        "kind": "comparison",
        "measures": measures,
        "calibration": every[0]["calibration"],
        "arms": [_describe_arm(name, arm, measures) for name, arm in arms.items()],
        "pairs": [_pair(name, arms[name], first, arms[first], measures) for name in others],
        "command": compare_command(folders, out),
        "environment": environment(),
    }
    write_json(found, out / COMPARISON)
    return found


def _arms(folders: Sequence[Path]) -> dict[str, list[tuple[Path, Evaluated]]]:
    arms: dict[str, list[tuple[Path, Evaluated]]] = {}
    for folder in folders:
        evaluation = read_evaluation(folder)
        check_predictions(folder, evaluation)
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
        pair = as_of_today(recipes[0]), as_of_today(other)
        changed = [d for d in differences(*pair) if not d.startswith("seed: ")]
        if changed:
            rule = f"runs called {name} must differ in nothing but the seed"
            refuse("compare", rule, "; ".join(changed), "give a changed run a --name of its own")


def _seed(evaluation: Evaluated) -> int:
    return int(evaluation["members"][0]["seed"])


def _check_same_images(evaluations: Sequence[Evaluated]) -> None:
    first = evaluations[0]
    for other in evaluations[1:]:
        if other["class_names"] != first["class_names"] or _images(other) != _images(first):
            rule = "runs must be measured on the same images"
            got = f"{other['name']} ({_images(other)}) and {first['name']} ({_images(first)})"
            refuse("compare", rule, got)


def _images(evaluation: Evaluated) -> str:
    split = evaluation["split"]
    num, classes = evaluation["sets"][split]["n"], len(evaluation["class_names"])
    return f"{num} {split} images of {classes} classes"


def _common_measures(evaluations: Sequence[Evaluated]) -> list[dict[str, Any]]:
    """What is shown of every evaluation, in the order of the first."""
    keys = [{measure["key"] for measure in e["measures"]} for e in evaluations]
    return [
        {name: value for name, value in measure.items() if name not in ("value", "interval")}
        for measure in evaluations[0]["measures"]
        if all(measure["key"] in others for others in keys)
    ]


def _values(evaluation: Evaluated) -> dict[str, float]:
    return {measure["key"]: measure["value"] for measure in evaluation["measures"]}


def _describe_arm(name: str, arm: Arm, measures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    every = [_values(evaluation) for _, evaluation in arm]
    values = {m["key"]: [found[m["key"]] for found in every] for m in measures}
    return {
        "name": name,
        "seeds": [_seed(evaluation) for _, evaluation in arm],
        "folders": [shown_path(folder) for folder, _ in arm],
        "values": values,
        "estimates": {key: asdict(estimate(numbers)) for key, numbers in values.items()},
        "evaluations": [evaluation for _, evaluation in arm],
    }


def _pair(
    name: str,
    arm: Arm,
    against_name: str,
    against: Arm,
    measures: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """One arm minus another: over the seeds both have, and over the images of one such pair."""
    ours, theirs = ({_seed(one[1]): one for one in side} for side in (arm, against))
    common = [seed for seed in ours if seed in theirs]
    by_seed = _by_seed([(ours[seed][1], theirs[seed][1]) for seed in common], measures)
    mine, other = (ours[common[0]], theirs[common[0]]) if common else (arm[0], against[0])
    by_image = _by_image(mine, other)
    verdicts = {
        m["key"]: _judge(by_seed.get(m["key"]), by_image.get(m["key"]), m["higher_is_better"])
        for m in measures
    }
    return {
        "arm": name,
        "against": against_name,
        "seeds": common,
        "by_seed": {key: asdict(value) for key, value in by_seed.items()},
        "by_image": {key: asdict(value) for key, value in by_image.items()},
        "verdicts": {key: {**asdict(v), "text": str(v)} for key, v in verdicts.items()},
    }


def _by_seed(
    pairs: Sequence[tuple[Evaluated, Evaluated]], measures: Sequence[Mapping[str, Any]]
) -> dict[str, Estimate]:
    """Paired differences over the seeds that both arms have; none without such seeds."""
    sides = [[_values(side) for side in pair] for pair in pairs]
    return {
        m["key"]: paired_difference(
            {seed: ours[m["key"]] for seed, (ours, _) in enumerate(sides)},
            {seed: theirs[m["key"]] for seed, (_, theirs) in enumerate(sides)},
        )
        for m in measures
        if sides
    }


def _judge(by_seed: Estimate | None, by_image: Interval | None, higher_is_better: bool) -> Verdict:
    """The verdict; without a seed in common nothing is shown of what is no mean over images."""
    if by_seed is None and by_image is None:
        return Verdict("not tested", 0, "seeds")
    return verdict(by_seed, by_image, higher_is_better=higher_is_better)


def _by_image(ours: tuple[Path, Evaluated], theirs: tuple[Path, Evaluated]) -> dict[str, Interval]:
    """Paired bootstrap over the images of each set that both have, for what is a mean over them.

    Not the ECE: the spread of confidence biases it upward, so its difference is no fair test.
    """
    kept, other_kept = (read_predictions(*side) for side in (ours, theirs))
    values, others = image_values(ours[1], kept), image_values(theirs[1], other_kept)
    found: dict[str, Interval] = {}
    for name in (name for name in values if name in others):
        if not kept[f"{name}_labels"].equal(other_kept[f"{name}_labels"]):
            rule = f"runs must be measured on the same images ({name})"
            refuse("compare", rule, f"others in {ours[0]} than in {theirs[0]}")
        mine, theirs_by_key = values[name], others[name]
        common = [key for key in mine if key in theirs_by_key]
        found |= bootstrap_intervals({key: mine[key] - theirs_by_key[key] for key in common})
    return found
