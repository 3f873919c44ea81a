"""The result file of a comparison: its shape, and reading it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from softaug.checks import describe, refuse
from softaug.lab.io import read_json
from softaug.lab.report.shape import check_shape

SCHEMA = 1
RERUN = "run `softaug demo` again"


class Reliability(TypedDict):
    """Bins of predicted confidence; what an empty bin says of it does not count."""

    edges: list[float]
    count: list[int]
    confidence: list[float | None]
    accuracy: list[float | None]


class Run(TypedDict):
    """What one training run measured on the test images; `occlusion` maps percent to accuracy."""

    seed: int
    error: float
    nll: float
    ece: float
    occlusion: dict[str, float]
    reliability: Reliability
    seconds: float


class Arm(TypedDict):
    """One way of training, its drawn offsets and its runs."""

    name: str
    transform: str
    loss: str
    offsets: list[list[float]]
    runs: list[Run]


class Curves(TypedDict):
    """Confidence against the visible share, for each k."""

    visible: list[float]
    confidence: dict[str, list[float]]


class Sample(TypedDict):
    """One image before and after the soft crop, and its target."""

    label: int
    original: list[list[int]]
    image: list[list[int]]
    dx: int
    dy: int
    visible: float
    retained: float
    confidence: float
    target: list[float]


class Settings(TypedDict):
    """The settings that the page speaks about; a file may hold more, and all are listed."""

    command: str
    epochs: int
    sigma: float
    k: float
    image_size: int
    num_train: int
    num_test: int
    num_classes: int
    model: str
    num_parameters: int


class Results(TypedDict):
    """The whole file."""

    schema: int
    settings: Settings
    environment: dict[str, object]
    arms: list[Arm]
    curves: Curves
    samples: list[Sample]


def read_results(path: Path) -> Results:
    """Read and check a result file, given itself or its folder."""
    file = path / "results.json" if path.is_dir() else path
    who = f"report of {file}"
    return check_results(read_json(file, who, RERUN), who)


def check_results(value: Mapping[str, Any], who: str = "report") -> Results:
    """Return `value` if it has the shape of a result file and at least one run in each arm."""
    schema = value.get("schema") if isinstance(value, Mapping) else describe(value)
    if schema != SCHEMA:
        refuse(who, f"the result file must have schema {SCHEMA}", schema, RERUN)
    check_shape(value, Results, who, RERUN)
    results = cast(Results, value)
    _check_arms(results["arms"], who)
    _check_curves(results["curves"], who)
    _check_samples(results["samples"], results["settings"]["num_classes"], who)
    return results


def _check_arms(arms: list[Arm], who: str) -> None:
    if not arms:
        refuse(who, "there must be at least one arm", "none", RERUN)
    names = [arm["name"] for arm in arms]
    if len(set(names)) < len(names):
        refuse(who, "arms must have different names", names, RERUN)
    for name in names:
        if not name.strip() or not name.isprintable():
            refuse(who, "arms must have printable names", repr(name), RERUN)
    for arm in arms:
        _check_runs(arm, who)
        if any(len(offset) != 2 for offset in arm["offsets"]):
            refuse(who, "offsets must be pairs [dx, dy]", f"others in arm {arm['name']!r}", RERUN)
    levels = [list(run["occlusion"]) for arm in arms for run in arm["runs"]]
    if any(level != levels[0] for level in levels) or not all(map(str.isdecimal, levels[0])):
        refuse(who, "all runs must have the same occlusion levels in percent", levels, RERUN)


def _check_runs(arm: Arm, who: str) -> None:
    seeds = [run["seed"] for run in arm["runs"]]
    if not seeds:
        refuse(who, f"arm {arm['name']!r} must have at least one run", "none", RERUN)
    if len(set(seeds)) < len(seeds):
        refuse(who, f"runs of arm {arm['name']!r} must have different seeds", seeds, RERUN)
    first = arm["runs"][0]["reliability"]["edges"]
    for run in arm["runs"]:
        _check_bins(run["reliability"], first, f"{who}, arm {arm['name']!r}, seed {run['seed']}")


def _check_bins(bins: Reliability, edges: list[float], who: str) -> None:
    if bins["edges"] != edges:
        refuse(who, "all runs of an arm must have the same reliability edges", bins["edges"], RERUN)
    lengths = [len(bins[part]) for part in ("count", "confidence", "accuracy")]
    if lengths != [len(edges) - 1] * 3 or not sum(bins["count"]):
        rule = f"reliability must have {len(edges) - 1} bins and at least one image"
        refuse(who, rule, f"lengths {lengths}, counts {bins['count']}", RERUN)
    for count, *values in zip(bins["count"], bins["confidence"], bins["accuracy"], strict=True):
        if count and None in values:
            refuse(who, "a bin with images must have confidence and accuracy", values, RERUN)


def _check_curves(curves: Curves, who: str) -> None:
    for k, values in curves["confidence"].items():
        if len(values) != len(curves["visible"]):
            rule = f"the curve of k = {k} must have {len(curves['visible'])} values"
            refuse(who, rule, len(values), RERUN)


def _check_samples(samples: list[Sample], num_classes: int, who: str) -> None:
    for number, sample in enumerate(samples):
        if len(sample["target"]) != num_classes:
            rule = f"the target of samples[{number}] must have {num_classes} classes"
            refuse(who, rule, len(sample["target"]), RERUN)
        size = _image_size(sample["original"])
        if size is None or size != _image_size(sample["image"]):
            rule = f"the images of samples[{number}] must be [H, W] of one size, values 0..255"
            refuse(who, rule, "others", RERUN)


def _image_size(rows: list[list[int]]) -> tuple[int, int] | None:
    """(H, W) of an image; None where rows are unequal or empty, or values outside 0..255."""
    widths = {len(row) for row in rows}
    if len(widths) != 1 or not all(0 <= value <= 255 for row in rows for value in row):
        return None
    width = widths.pop()
    return (len(rows), width) if width else None
