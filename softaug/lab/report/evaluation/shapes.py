"""The shape of evaluation.json and comparison.json: what the page reads of them."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from softaug.lab.report.results import Reliability

Word = Literal["better", "worse", "no difference shown", "not tested"]


class Measure(TypedDict):
    """A number of an evaluation and how it is shown; `percent` is for shares in 0..1."""

    key: str
    label: str
    percent: object  # true or false
    digits: int
    higher_is_better: object  # true or false


class Measured(Measure):
    """A measure with its value in one evaluation."""

    value: float
    interval: object  # the two ends over images, or null


class Estimate(TypedDict):
    """Mean over n seeds and its standard error."""

    mean: float
    se: float | None
    n: int


class Interval(TypedDict):
    """A difference over images with the ends of its interval."""

    value: float
    low: float
    high: float
    n: int
    level: float


class Verdict(TypedDict):
    """What a comparison shows, and over how many seeds or images."""

    word: str
    n: int
    over: str
    text: str


class Temperature(TypedDict):
    """The fitted temperatures, and on what."""

    values: list[float]
    how: str


class Diagrams(TypedDict):
    """Bins of confidence before and after temperature scaling."""

    before: Reliability
    after: Reliability


class Histogram(TypedDict):
    """Right and wrong answers in equal bins of confidence."""

    right: list[int]
    wrong: list[int]


class TestSet(TypedDict):
    """What was measured on a set of images."""

    n: int
    error: float
    top5_error: float
    before: dict[str, float]
    after: dict[str, float]
    reliability: Diagrams
    histogram: Histogram


class PerClass(TypedDict):
    """Images, error, NLL and Brier score of each class, and how often it was taken for which."""

    count: list[int]
    error: list[float | None]
    nll: list[float | None]
    brier: list[float | None]
    confusion: list[list[int]]


class Ordeal(TypedDict):
    """Accuracy and its standard error over images at each level of a harm."""

    levels: list[float]
    accuracy: list[float]
    se: list[float]
    draws: int
    n: int


class Answered(TypedDict):
    """A picture (base64 PNG) and the first answers: class and confidence."""

    png: str
    answers: list[list[float]]


class Example(Answered):
    """A test image, whole."""

    index: int
    label: int


class Occluded(TypedDict):
    """The first examples with a share of each hidden."""

    share: float
    images: list[Answered]


class Examples(TypedDict):
    """Pictures with what the network says of them."""

    whole: list[Example]
    occluded: list[Occluded]


class Member(TypedDict):
    """A trained network: one, or several in an ensemble."""

    folder: str
    seed: int
    step: int
    num_steps: int
    finished: object  # true or false
    weights_sha256: str
    metrics: list[dict[str, object]]


class Evaluation(TypedDict):
    """The content of evaluation.json."""

    schema: int
    kind: str
    name: str
    recipe: dict[str, object]
    members: list[Member]
    class_names: list[str]
    split: str
    temperature: Temperature
    sets: dict[str, TestSet]
    per_class: PerClass
    robustness: dict[str, Ordeal]
    examples: Examples
    measures: list[Measured]
    calibration: list[Measure]
    command: str
    environment: dict[str, object]


class Arm(TypedDict):
    """Evaluations of one name and several seeds."""

    name: str
    seeds: list[int]
    values: dict[str, list[float]]
    estimates: dict[str, Estimate]
    evaluations: list[Evaluation]


class Pair(TypedDict):
    """One arm minus another."""

    arm: str
    against: str
    seeds: list[int]
    by_seed: dict[str, Estimate]
    by_image: dict[str, Interval]
    verdicts: dict[str, Verdict]


class Comparison(TypedDict):
    """The content of comparison.json."""

    schema: int
    kind: str
    measures: list[Measure]
    calibration: list[Measure]
    arms: list[Arm]
    pairs: list[Pair]
    command: str
    environment: dict[str, object]


def main_set(evaluation: Evaluation) -> TestSet:
    """What was measured on the split that the evaluation is about."""
    return evaluation["sets"][evaluation["split"]]


def shared_sets(arms: Sequence[Arm]) -> list[str]:
    """Sets of images that every evaluation was measured on, the split first."""
    every = [evaluation["sets"] for arm in arms for evaluation in arm["evaluations"]]
    return [name for name in every[0] if all(name in sets for sets in every)]


def show(measure: Measure, value: float) -> str:
    """A value as tables print it, with a true minus sign."""
    return f"{scaled(measure, value):.{measure['digits']}f}".replace("-", "−")


def scaled(measure: Measure, value: float) -> float:
    """A value in the unit of its label: % or as it is."""
    return value * 100 if measure["percent"] else value


def signed(measure: Measure, value: float) -> str:
    """A difference as tables print it, with its sign."""
    shown = show(measure, value)
    return shown if value < 0 or float(shown) == 0 else f"+{shown}"
