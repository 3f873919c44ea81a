"""Reading and checking the result file of an evaluation or a comparison."""

import base64
import binascii
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from PIL import Image

from softaug.checks import describe, refuse
from softaug.lab.io import read_json
from softaug.lab.report.evaluation.shapes import (
    Answered,
    Arm,
    Comparison,
    Evaluation,
    Measure,
    Measured,
    Ordeal,
    Pair,
    TestSet,
    Word,
)
from softaug.lab.report.evaluation.single import as_comparison
from softaug.lab.report.results import Reliability
from softaug.lab.report.shape import check_shape

SCHEMA = 2
FILES = ("comparison.json", "evaluation.json")
RERUN = "run `softaug evaluate` and `softaug compare` again"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def find_file(path: Path) -> Path:
    """The result file: `path` itself, or the comparison, else the evaluation, in that folder."""
    if not path.is_dir():
        return path
    found = [path / name for name in FILES if (path / name).is_file()]
    if not found:
        refuse("report", f"{path} must hold {' or '.join(FILES)}", "neither", RERUN)
    return found[0]


def read_comparison(path: Path) -> Comparison:
    """Read and check a result file, given itself or its folder; one evaluation is one arm."""
    file = find_file(path)
    who = f"report of {file}"
    return check_comparison(read_json(file, who, RERUN), who)


def check_comparison(value: Mapping[str, Any], who: str = "report") -> Comparison:
    """Return the comparison that `value` is, or is one evaluation of."""
    if not isinstance(value, Mapping):
        refuse(who, "the result file must be an object", describe(value), RERUN)
    kind, schema = value.get("kind"), value.get("schema")
    if kind not in ("comparison", "evaluation"):
        rule = "the result file must be of kind comparison or evaluation"
        refuse(who, rule, describe(kind), "the demo's results.json has its own report")
    if schema != SCHEMA:
        refuse(who, f"the result file must have schema {SCHEMA}", describe(schema), RERUN)
    if kind == "evaluation":
        check_shape(value, Evaluation, who, RERUN)
        evaluation = cast(Evaluation, value)
        _check_evaluation(evaluation, evaluation, who)
        return as_comparison(evaluation)
    check_shape(value, Comparison, who, RERUN)
    comparison = cast(Comparison, value)
    _check_measures(comparison["measures"], who)
    _check_arms(comparison, who)
    for arm in comparison["arms"]:
        for evaluation in arm["evaluations"]:
            _check_calibration(comparison["calibration"], evaluation["sets"], who)
    for pair in comparison["pairs"]:
        _check_pair(pair, comparison, who)
    return comparison


def _need(true: bool, who: str, rule: str, got: object) -> None:
    if not true:
        refuse(who, rule, describe(got), RERUN)


def _check_measures(measures: list[Measure], who: str) -> None:
    keys = [measure["key"] for measure in measures]
    _need(len(set(keys)) == len(keys), who, "measures must have different keys", keys)
    for measure in measures:
        for name, value in (("percent", measure["percent"]), ("", measure["higher_is_better"])):
            rule = f"{name or 'higher_is_better'} of {measure['key']} must be true or false"
            _need(isinstance(value, bool), who, rule, value)
        rule = f"digits of {measure['key']} must be in 0..9"
        _need(0 <= measure["digits"] <= 9, who, rule, measure["digits"])


def _check_arms(comparison: Comparison, who: str) -> None:
    arms = comparison["arms"]
    _need(bool(arms), who, "there must be at least one arm", arms)
    names = [arm["name"] for arm in arms]
    _need(len(set(names)) == len(names), who, "arms must have different names", names)
    for arm in arms:
        _check_arm(arm, comparison["measures"], f"{who}, arm {arm['name']!r}")
        for evaluation in arm["evaluations"]:
            first = arms[0]["evaluations"][0]
            _check_evaluation(evaluation, first, f"{who}, arm {arm['name']!r}")


def _check_arm(arm: Arm, measures: list[Measure], who: str) -> None:
    num = len(arm["evaluations"])
    _need(num > 0, who, "there must be at least one evaluation", num)
    _need(len(arm["seeds"]) == num, who, f"there must be {num} seeds", arm["seeds"])
    for key in (measure["key"] for measure in measures):
        _need(key in arm["estimates"], who, f"estimates must hold {key}", list(arm["estimates"]))
        values = arm["values"].get(key, [])
        _need(len(values) == num, who, f"values of {key} must be {num} numbers", values)


def _check_evaluation(evaluation: Evaluation, first: Evaluation, who: str) -> None:
    names = evaluation["class_names"]
    _need(bool(names), who, "there must be classes", names)
    _need(names == first["class_names"], who, "all must have the same classes", names)
    _need(bool(evaluation["members"]), who, "there must be at least one member", "none")
    for member in evaluation["members"]:
        finished = member["finished"]
        _need(isinstance(finished, bool), who, "finished must be true or false", finished)
    split = evaluation["split"]
    _need(split in evaluation["sets"], who, f"sets must hold {split}", list(evaluation["sets"]))
    _need(split == first["split"], who, f"all must be measured on {first['split']}", split)
    _check_measures([*evaluation["measures"]], who)
    _check_intervals(evaluation["measures"], who)
    _check_calibration(evaluation["calibration"], evaluation["sets"], who)
    for name, measured in evaluation["sets"].items():
        _check_set(measured, f"{who}, set {name!r}")
    for name in (name for name in evaluation["sets"] if name in first["sets"]):
        edges, wanted = _edges(evaluation["sets"][name]), _edges(first["sets"][name])
        _need(edges == wanted, who, "all must have the same bins of confidence", edges)
    _need(bool(evaluation["temperature"]["values"]), who, "there must be a temperature", "none")
    _check_classes(evaluation, who)
    for name, ordeal in evaluation["robustness"].items():
        _check_ordeal(ordeal, f"{who}, {name}")
        levels, wanted_levels = ordeal["levels"], first["robustness"].get(name, ordeal)["levels"]
        _need(levels == wanted_levels, who, f"all must have the same levels of {name}", levels)
    _check_examples(evaluation, who)
    shown, others = _shown(evaluation), _shown(first)
    _need(shown == others, who, "all must have the same examples", shown)


def _shown(evaluation: Evaluation) -> tuple[list[tuple[int, int]], list[tuple[float, int]]]:
    """What the examples are: places and labels, hidden shares and how many."""
    examples = evaluation["examples"]
    whole = [(example["index"], example["label"]) for example in examples["whole"]]
    return whole, [(hidden["share"], len(hidden["images"])) for hidden in examples["occluded"]]


def _edges(measured: TestSet) -> tuple[list[float], list[float], int]:
    parts = measured["reliability"]
    return parts["before"]["edges"], parts["after"]["edges"], len(measured["histogram"]["right"])


def _check_intervals(measures: list[Measured], who: str) -> None:
    for measure in measures:
        ends = measure["interval"]
        good = ends is None or (isinstance(ends, list) and _are_numbers(ends) and len(ends) == 2)
        _need(good, who, f"the interval of {measure['key']} must be null or two numbers", ends)


def _are_numbers(values: list[object]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _check_calibration(figures: list[Measure], sets: Mapping[str, TestSet], who: str) -> None:
    _check_measures(figures, who)
    for key in (figure["key"] for figure in figures):
        for name, measured in sets.items():
            good = key in measured["before"] and key in measured["after"]
            rule = f"set {name!r} must hold {key} before and after scaling"
            _need(good, who, rule, list(measured["before"]))


def _check_set(measured: TestSet, who: str) -> None:
    for bins in (measured["reliability"]["before"], measured["reliability"]["after"]):
        _check_bins(bins, who)
    histogram = measured["histogram"]
    same = len(histogram["right"]) == len(histogram["wrong"]) > 0
    _need(same, who, "the histogram must have as many right as wrong bins", histogram)


def _check_bins(bins: Reliability, who: str) -> None:
    num = len(bins["edges"]) - 1
    lengths = [len(bins["count"]), len(bins["confidence"]), len(bins["accuracy"])]
    good = lengths == [num] * 3 and sum(bins["count"]) > 0
    _need(good, who, f"reliability must have {num} bins and at least one image", lengths)


def _check_classes(evaluation: Evaluation, who: str) -> None:
    num, classes = len(evaluation["class_names"]), evaluation["per_class"]
    columns = (classes["error"], classes["nll"], classes["brier"])
    lengths = [len(classes["count"]), *map(len, columns), *map(len, classes["confusion"])]
    good = lengths == [num] * (num + 4)
    _need(good, who, f"per_class must be about {num} classes", lengths)


def _check_ordeal(ordeal: Ordeal, who: str) -> None:
    lengths = [len(ordeal["accuracy"]), len(ordeal["se"])]
    good = lengths == [len(ordeal["levels"])] * 2 and lengths[0] > 0
    _need(good, who, f"accuracy and se must have {len(ordeal['levels'])} values", lengths)


def _check_examples(evaluation: Evaluation, who: str) -> None:
    num, examples = len(evaluation["class_names"]), evaluation["examples"]
    for example in examples["whole"]:
        _need(0 <= example["label"] < num, who, f"labels must be in 0..{num - 1}", example["label"])
        _check_answers(example, num, who)
    for hidden in examples["occluded"]:
        good = len(hidden["images"]) <= len(examples["whole"])
        _need(good, who, "occluded must be the first of the whole images", len(hidden["images"]))
        for image in hidden["images"]:
            _check_answers(image, num, who)


def _check_answers(image: Answered, num: int, who: str) -> None:
    text = image["png"]
    _need(bool(_BASE64.fullmatch(text)), who, "png must be base64", text)
    _need(bool(image["answers"]), who, "there must be answers", image["answers"])
    for answer in image["answers"]:
        good = len(answer) == 2 and answer[0] in range(num) and 0 <= answer[1] <= 1
        _need(good, who, "an answer must be a class and a confidence in 0..1", answer)


def _check_pair(pair: Pair, comparison: Comparison, who: str) -> None:
    names = [arm["name"] for arm in comparison["arms"]]
    for name in (pair["arm"], pair["against"]):
        _need(name in names, who, f"a pair must be of {names}", name)
    for key in (measure["key"] for measure in comparison["measures"]):
        verdict = pair["verdicts"].get(key)
        good = verdict is not None and verdict["word"] in get_args(Word)
        _need(good, who, f"verdicts must hold {key}: {', '.join(get_args(Word))}", verdict)


def open_png(text: str) -> Image.Image:
    """The picture in a base64 text."""
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=["PNG"])
        return picture.convert("RGB")
    except (binascii.Error, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        refuse("report", "examples must be PNG pictures", describe(text), RERUN)
