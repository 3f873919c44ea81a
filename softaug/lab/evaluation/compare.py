"""Comparing runs: arms of several seeds, their differences, and what these show."""

import hashlib
import shlex
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
from torch import Tensor

from softaug.checks import refuse
from softaug.lab import schema
from softaug.lab.evaluation.evaluate import EVALUATION, PREDICTIONS, format_path
from softaug.lab.evaluation.metrics import image_values
from softaug.lab.evaluation.stats import bootstrap_intervals, estimate, paired_difference, verdict
from softaug.lab.recipes.serialize import as_of_today, differences
from softaug.lab.schema import Estimate, Evaluation, Interval, MetricSpec, Verdict
from softaug.lab.training.logging import environment

COMPARISON = "comparison.json"
OWN_NAME = "give each changed run a --name of its own"


class Evaluated(NamedTuple):
    """An evaluation and the folder that holds it."""

    folder: Path
    evaluation: schema.Evaluation


def compare_runs(
    folders: Sequence[Path], out: Path, labels: Mapping[str, str] | None = None
) -> schema.Comparison:
    """Compare evaluated runs; those of one name are an arm, the first arm is the baseline.

    Writes `out`/comparison.json. Arms are called by their `labels`, else by their names.
    """
    if not folders:
        refuse("compare", "at least one evaluated run must be given", "none")
    labels = labels or {}
    arms = {labels.get(name, name): arm for name, arm in _group_arms(folders).items()}
    evaluations = [one.evaluation for arm in arms.values() for one in arm]
    _check_same_images(evaluations)
    metrics = _common_metrics(evaluations)
    first, *others = arms
    comparison = schema.Comparison(
        metrics=metrics,
        calibration=_common_calibration(evaluations),
        arms=[_describe_arm(name, arm, metrics) for name, arm in arms.items()],
        pairs=[_compare_arms(name, arms[name], first, arms[first], metrics) for name in others],
        command=format_command(folders, out),
        environment=environment(),
    )
    schema.write(comparison, out / COMPARISON)
    return comparison


def read_evaluation(folder: Path) -> schema.Evaluation:
    """Read the evaluation in a folder; refused where there is none that can be compared."""
    path = folder / EVALUATION
    if not path.is_file():
        got = f"no {EVALUATION}" if folder.is_dir() else "no such folder"
        refuse("compare", f"{folder} must be evaluated", got, f"run `softaug evaluate {folder}`")
    return schema.read_evaluation(path)


def read_predictions(folder: Path, evaluation: schema.Evaluation) -> dict[str, Tensor]:
    """Read the predictions that the evaluation was made from; others are refused."""
    path, remedy = folder / PREDICTIONS, f"run `softaug evaluate {folder}` again"
    try:
        content = path.read_bytes()
    except OSError as missing:
        refuse("compare", f"{path} must be readable", missing.strerror, remedy)
    sha256, wanted = hashlib.sha256(content).hexdigest(), evaluation.predictions_sha256
    if sha256 != wanted:
        rule = f"{path} must have the sha256 {wanted[:12]}... that {EVALUATION} names"
        refuse("compare", rule, f"{sha256[:12]}...", remedy)
    return safetensors.torch.load(content)


def format_command(folders: Sequence[Path], out: Path) -> str:
    """Return `softaug compare` of these folders.

    >>> format_command([Path("runs/a"), Path("runs/b")], Path("a-b"))
    'softaug compare runs/a runs/b --out a-b'
    """
    parts = ["softaug", "compare", *map(format_path, folders), "--out", format_path(out)]
    return shlex.join(parts)


def _group_arms(folders: Sequence[Path]) -> dict[str, list[Evaluated]]:
    """Read all evaluations, grouped by name; runs of a name may differ in the seed alone."""
    arms: dict[str, list[Evaluated]] = {}
    for folder in folders:
        evaluation = read_evaluation(folder)
        read_predictions(folder, evaluation)  # refused before anything is computed
        arms.setdefault(evaluation.name, []).append(Evaluated(folder, evaluation))
    for name, arm in arms.items():
        seeds = [one.evaluation.seed for one in arm]
        if len(set(seeds)) < len(seeds):
            rule = f"runs of {name} must have different seeds"
            refuse("compare", rule, seeds, OWN_NAME)
        first, *others = (as_of_today(one.evaluation.recipe) for one in arm)
        for other in others:
            changed = [d for d in differences(first, other) if not d.startswith("seed: ")]
            if changed:
                rule = f"runs called {name} must differ in nothing but the seed"
                refuse("compare", rule, "; ".join(changed), OWN_NAME)
    return arms


def _check_same_images(evaluations: Sequence[Evaluation]) -> None:
    first = evaluations[0]
    for other in evaluations[1:]:
        same = _describe_images(other) == _describe_images(first)
        if not same or other.class_names != first.class_names:
            got = " and ".join(
                f"{evaluation.name} ({_describe_images(evaluation)})"
                for evaluation in (other, first)
            )
            refuse("compare", "runs must be measured on the same images", got)


def _describe_images(evaluation: Evaluation) -> str:
    num, classes = evaluation.main_set.n, len(evaluation.class_names)
    return f"{num} {evaluation.split} images of {classes} classes"


def _common_metrics(evaluations: Sequence[Evaluation]) -> list[MetricSpec]:
    """List what every evaluation has, in the order of the first."""
    return [
        MetricSpec(**metric.model_dump(exclude={"value", "interval"}))
        for metric in evaluations[0].metrics
        if all(metric.key in other.values for other in evaluations)
    ]


def _common_calibration(evaluations: Sequence[Evaluation]) -> list[MetricSpec]:
    """List the calibration metrics that every evaluation has."""
    keys = [{spec.key for spec in one.calibration} for one in evaluations]
    return [
        s
        for s in evaluations[0].calibration
        if all(s.key in evaluation_keys for evaluation_keys in keys)
    ]


def _describe_arm(name: str, arm: Sequence[Evaluated], metrics: Sequence[MetricSpec]) -> schema.Arm:
    evaluations = [one.evaluation for one in arm]
    values = {m.key: [one.values[m.key] for one in evaluations] for m in metrics}
    return schema.Arm(
        name=name,
        seeds=[one.seed for one in evaluations],
        folders=[format_path(one.folder) for one in arm],
        values=values,
        estimates={key: estimate(numbers) for key, numbers in values.items()},
        evaluations=evaluations,
    )


def _compare_arms(
    name: str,
    arm: Sequence[Evaluated],
    against_name: str,
    against: Sequence[Evaluated],
    metrics: Sequence[MetricSpec],
) -> schema.Pair:
    """Subtract an arm from another: over the seeds of both, and over the images of one pair."""
    ours, theirs = ({one.evaluation.seed: one for one in side} for side in (arm, against))
    common = [seed for seed in ours if seed in theirs]

    def values(side: Mapping[int, Evaluated], key: str) -> dict[Hashable, float]:
        return {seed: one.evaluation.values[key] for seed, one in side.items()}

    by_seed = {
        m.key: paired_difference(values(ours, m.key), values(theirs, m.key))
        for m in metrics
        if common
    }
    run, baseline = (ours[common[0]], theirs[common[0]]) if common else (arm[0], against[0])
    by_image = _compare_by_image(run, baseline)
    return schema.Pair(
        arm=name,
        against=against_name,
        seeds=common,
        by_seed=by_seed,
        by_image=by_image,
        verdicts={m.key: _judge(by_seed.get(m.key), by_image.get(m.key), m) for m in metrics},
    )


def _compare_by_image(ours: Evaluated, theirs: Evaluated) -> dict[str, Interval]:
    """Bootstrap, in pairs, the images of each set of both runs, for metrics that are means.

    Not the ECE: the spread of confidence biases it upward, so its difference is no fair test.
    """
    predictions, their_predictions = read_predictions(*ours), read_predictions(*theirs)
    our_values, their_values = (
        image_values(one.test_sets, one.split, one.corruptions, tensors)
        for one, tensors in ((ours.evaluation, predictions), (theirs.evaluation, their_predictions))
    )
    intervals: dict[str, Interval] = {}
    for name in (name for name in our_values if name in their_values):
        if not predictions[f"{name}_labels"].equal(their_predictions[f"{name}_labels"]):
            rule = f"runs must be measured on the same images ({name})"
            refuse("compare", rule, f"others in {ours.folder} than in {theirs.folder}")
        common = [key for key in our_values[name] if key in their_values[name]]
        intervals |= bootstrap_intervals(
            {key: our_values[name][key] - their_values[name][key] for key in common}
        )
    return intervals


def _judge(by_seed: Estimate | None, by_image: Interval | None, metric: MetricSpec) -> Verdict:
    """Judge a difference; not that of a metric of which neither side is the better.

    Without a common seed, a metric that is no mean over images is not tested.
    """
    if metric.higher_is_better is None or (by_seed is None and by_image is None):
        return Verdict("not tested", by_seed.n if by_seed else 0, "seeds")
    return verdict(by_seed, by_image, higher_is_better=metric.higher_is_better)
