"""What is shown of an evaluation and how: the one list that tables, pages and comparisons read.

It travels inside evaluation.json, so that whoever reads that file needs no list of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """How a number is called and printed; `percent` is for shares in 0..1."""

    key: str
    label: str
    percent: bool = True
    digits: int = 2
    higher_is_better: bool = False


CALIBRATION = (
    Shown("nll", "NLL", percent=False, digits=3),
    Shown("brier", "Brier score", percent=False, digits=3),
    Shown("ece_10", "ECE (10 bins), %"),
    Shown("ece_15", "ECE (15 bins), %"),
    Shown("ece_15_mass", "ECE (15 equal masses), %"),
    Shown("l2_15_mass_debiased", "Debiased L2 (15 equal masses), %"),
    Shown("ece_15_classwise", "Class-wise ECE (15 bins), %", digits=3),
    Shown("mce_15", "Maximum gap (15 bins), %"),
    Shown("gap", "Confidence minus accuracy, points"),
)
_BY_KEY = {shown.key: shown for shown in CALIBRATION}
_BEFORE = ("nll", "brier", "ece_10", "ece_15", "ece_15_mass")
_AFTER = ("nll", "ece_15")
FLOORS = {"knn_untrained_error": "untrained network", "knn_pixels_error": "raw pixels"}
_HARMS = {"occlusion": "{:.0%} hidden", "shift": "{:.0%} left in frame", "noise": "noise {:g}"}


def list_measures(
    evaluation: Mapping[str, Any], intervals: Mapping[str, list[float]]
) -> list[dict[str, Any]]:
    """Every measure with its value and its interval over images (None where there is none).

    The measured split comes first, then nearest neighbours of features, then harmed images,
    then second test sets, whose keys begin with their name.
    """
    split, sets = evaluation["split"], evaluation["sets"]
    rows = [*_of_set(sets[split]), *_neighbours(evaluation.get("features"))]
    rows += _robustness(evaluation["robustness"])
    for name, measured in sets.items():
        if name != split:
            rows += [(_named(name, split, shown), value) for shown, value in _of_set(measured)]
    return [
        {**shown._asdict(), "value": value, "interval": intervals.get(shown.key)}
        for shown, value in rows
    ]


def level_key(ordeal: str, level: float) -> str:
    """The key of the accuracy at a level of an ordeal.

    >>> level_key("occlusion", 0.4)
    'occlusion/0.4'
    """
    return f"{ordeal}/{level:g}"


def set_key(name: str, split: str, key: str) -> str:
    """The key of a measure of a set of images: bare for the split that is measured.

    >>> set_key("test", "test", "error"), set_key("v2", "test", "error")
    ('error', 'v2/error')
    """
    return key if name == split else f"{name}/{key}"


def _of_set(measured: Mapping[str, Any]) -> Iterator[tuple[Shown, float]]:
    yield Shown("error", "Error, %"), measured["error"]
    yield Shown("top5_error", "Top-5 error, %"), measured["top5_error"]
    for key in _BEFORE:
        yield _BY_KEY[key], measured["before"][key]
    for key in _AFTER:
        yield _scaled(_BY_KEY[key]), measured["after"][key]


def _neighbours(features: Mapping[str, Any] | None) -> Iterator[tuple[Shown, float]]:
    """Errors of nearest neighbours, where a network learned without labels."""
    if features is not None:
        yield Shown("knn_error", "Nearest neighbours: error, %"), features["knn_error"]
        for kind, words in FLOORS.items():
            yield Shown(kind, f"Nearest neighbours, {words}: error, %"), features[kind]


def _scaled(shown: Shown) -> Shown:
    """The same after temperature scaling."""
    name, unit, _ = shown.label.partition(", %")
    return shown._replace(key=f"{shown.key}_scaled", label=f"{name}, scaled{unit}")


def _named(name: str, split: str, shown: Shown) -> Shown:
    """The same of a second test set."""
    key = set_key(name, split, shown.key)
    return shown._replace(key=key, label=f"{name}: {shown.label}")


def _robustness(robustness: Mapping[str, Any]) -> Iterator[tuple[Shown, float]]:
    """Accuracy at each level of each ordeal but the first, which does nothing."""
    for name, found in robustness.items():
        for level, accuracy in zip(found["levels"][1:], found["accuracy"][1:], strict=True):
            label = f"Accuracy, {_HARMS[name].format(level)}, %"
            yield Shown(level_key(name, level), label, digits=1, higher_is_better=True), accuracy
