"""The schema of every file that a run, an evaluation, a comparison or a grid leaves.

Each file is one record: `write` writes it, `read` reads and validates it. Keys that a record
does not have are refused, and so are numbers that are not finite. This module imports neither
torch nor numpy, so that readers start fast.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails, to_json

from softaug.checks import refuse
from softaug.lab.io import read_json, write_json

SCHEMA_VERSION: Literal[3] = 3
RUN = "run.json"
SEAL = "sha256"  # the key of a file's sha256; files of 0.1 have none
_CONFIG = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Environment = dict[str, str | int | None]  # versions, commit, processor and date
# a recipe as recipe.json holds it (`softaug.lab.recipes.serialize`)
RecipeDict = dict[str, JsonValue]


class Record(BaseModel):
    """Base of all records: strict, frozen, without unknown keys."""

    model_config = _CONFIG


class ResultFile(Record):
    """Base of records that are a whole file."""

    # what to do about a file that cannot be read; {folder} is the folder it lies in
    remedy: ClassVar[str]
    written_as_schema_1: ClassVar[bool] = False
    """whether files with "schema": 1 in place of the version have the same keys"""
    schema_version: Literal[3] = SCHEMA_VERSION


R = TypeVar("R", bound=ResultFile)


def write(record: ResultFile, path: Path, indent: int | None = None) -> Path:
    """Write a record as JSON, atomically, with its sha256."""
    return write_json(seal(record.model_dump()), path, indent)


def seal(content: dict[str, Any]) -> dict[str, Any]:
    """Add the sha256 of all else, which tells whether a file is as it was written."""
    return {**content, SEAL: _hash(content)}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_sealed(path: Path, remedy: str, who: str = "") -> Any:
    """Read a JSON file; if it has a sha256, refuse another content, and take it off."""
    name = f"{who}: {path}" if who else str(path)
    content = read_json(path, name, remedy)
    if isinstance(content, dict) and SEAL in content:
        sha256 = content.pop(SEAL)
        if sha256 != _hash(content):
            rule = f"the file must be as it was written, with {SEAL} {_shorten(sha256)}"
            refuse(name, rule, _hash(content), remedy)
    return content


def read(path: Path, model: type[R]) -> R:
    """Read and validate a file; an error names the file, the key, the rule and the value."""
    remedy = model.remedy.format(folder=path.parent)
    content = read_sealed(path, remedy)
    if isinstance(content, dict) and model.written_as_schema_1 and content.get("schema") == 1:
        del content["schema"]
        content["schema_version"] = SCHEMA_VERSION
    if isinstance(content, dict) and content.get("schema_version") != SCHEMA_VERSION:
        version = content.get("schema_version")
        age = "a later" if isinstance(version, int) and version > SCHEMA_VERSION else "an earlier"
        rule = f"the file must have schema_version {SCHEMA_VERSION}"
        refuse(str(path), rule, f"{version}: it was written by {age} version", remedy)
    try:
        return model.model_validate_json(to_json(content, inf_nan_mode="constants"))
    except ValidationError as invalid:
        _refuse_first(invalid.errors(include_url=False)[0], path, remedy)


def _refuse_first(error: ErrorDetails, path: Path, remedy: str) -> NoReturn:
    parts = (f"[{at}]" if isinstance(at, int) else f".{at}" for at in error["loc"])
    where = "".join(parts).removeprefix(".")  # such as arms[0].seeds
    got = "nothing" if error["type"] == "missing" else _shorten(error["input"])
    if error["type"] == "value_error":  # a validator of ours: rule and value are in it
        rule, _, got = str(error["ctx"]["error"]).rpartition(", got ")
        refuse(str(path), f"{where}: {rule}" if where else rule, got, remedy)
    rules = {"missing": "must be there", "extra_forbidden": "must not be there: no such key"}
    rule = rules.get(error["type"]) or re.sub(r"^\w+ should", "must", error["msg"])
    refuse(str(path), f"{where or 'the file'} {rule}", got, remedy)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _need(condition: bool, rule: str, got: object) -> None:
    """Refuse what a validator looks at."""
    if not condition:
        raise ValueError(f"{rule}, got {_shorten(got)}")


def _need_lengths(num: int, **columns: Any) -> None:
    lengths = [len(column) for column in columns.values()]
    rule = f"{', '.join(columns)} must have {num} values each"
    _need(lengths == [num] * len(columns), rule, lengths)


def _need_unique(name: str, values: Sequence[str]) -> None:
    _need(len(set(values)) == len(values), f"{name} must be different", values)


def _columns(first: str, *others: str) -> Any:
    """Make the validator of a record whose lists are columns of one table."""

    def check(record: Record) -> Record:
        num = len(getattr(record, first))
        _need_lengths(num, **{name: getattr(record, name) for name in others})
        return record

    return model_validator(mode="after")(check)


# Statistics


Word = Literal["better", "worse", "no difference shown", "not tested"]


@dataclass(frozen=True)
class Estimate:
    """Mean over `n` seeds and its standard error; a single seed has none."""

    mean: float
    se: float | None
    n: int
    __pydantic_config__ = _CONFIG


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; `n` seeds or images, `level` such as 0.95."""

    value: float
    low: float
    high: float
    n: int
    level: float
    __pydantic_config__ = _CONFIG


@dataclass(frozen=True)
class Verdict:
    """What a comparison shows, and over how many seeds or images.

    >>> print(Verdict("better", 5, "seeds"))
    better (n = 5 seeds)
    >>> print(Verdict("worse", 10000, "images"))
    worse (n = 10000 images, one pair of runs)
    """

    word: Word
    n: int
    over: Literal["seeds", "images"]
    __pydantic_config__ = _CONFIG

    def __str__(self) -> str:
        unit = self.over if self.n != 1 else self.over.removesuffix("s")
        pair = ", one pair of runs" if self.over == "images" else ""
        return f"{self.word} (n = {self.n} {unit}{pair})"


# A run: run.json, result.json and metrics.jsonl


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class RunIdentity(ResultFile):
    """run.json: which run a folder holds; its checkpoints and its result have the same values."""

    remedy: ClassVar[str] = "restore the file, or train again with another --out"

    run_id: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]  # drawn when a run begins
    recipe_sha256: Sha256  # of the content of recipe.json


class MetricsRow(BaseModel):
    """A line of metrics.jsonl, one for each epoch.

    Beside these: the learning rate, losses and metrics by name, such as `train_loss`,
    `test_error` or, of a paced run, `sigma`; all are numbers.
    """

    model_config = _CONFIG | {"extra": "allow"}
    __pydantic_extra__: dict[str, float]

    step: Count  # training steps done
    epoch: Count  # epochs done
    warning: str | None = None  # of the epoch, in words

    @property
    def numbers(self) -> dict[str, float]:
        """Everything that was measured, by name."""
        return dict(self.__pydantic_extra__)


class Result(ResultFile):
    """result.json: what came out of a finished run."""

    remedy: ClassVar[str] = "restore the file, or train again with another --out"
    written_as_schema_1: ClassVar[bool] = True

    recipe: RecipeDict
    run_id: str | None = None  # as in run.json; absent in results of version 0.1
    recipe_sha256: Sha256 | None = None
    seed: Count
    split: str  # what it was measured on: test or validation
    error: Share | None = None  # share of wrong answers; where labels were learned
    nll: float | None = None
    ece: Share | None = None
    # error of nearest neighbors; of a network that learned without labels
    knn_error: Share | None = None
    train_loss: float
    train_error: Share | None = None  # of augmented images in the last epoch
    train_error_clean: Share | None = None  # of training images as they are, after the last epoch
    # mean confidence in the answers to training images as they are
    train_confidence_clean: Share | None = None
    train_feature_std: float | None = None
    files_sha256: dict[str, str] = {}  # of the files that the recipe names
    skipped: list[str] = []  # files that could not be read
    num_train: Count
    num_measured: Count
    num_classes: Count
    num_parameters: Count
    weights: str  # the file with the weights, in the run's folder
    seconds: float
    images_per_second: float
    time_shares: dict[str, float] = {}  # of the phases of a step
    augmentation_share: float | None = None
    processes: Count
    threads: Count
    device: str
    environment: Environment


# How a metric is shown


class MetricSpec(Record):
    """The name of a metric, its label in tables, and how its values are printed."""

    key: str
    label: str
    percent: bool = True  # whether a share in 0..1 is shown in %
    digits: int = Field(default=2, ge=0, le=9)
    higher_is_better: bool | None = False  # null where neither is

    def in_unit(self, value: float) -> float:
        """Return a value in the unit of the label: % or as it is."""
        return value * 100 if self.percent else value

    def format(self, value: float) -> str:
        """Return a value as tables print it, with a true minus sign.

        >>> MetricSpec(key="error", label="Error, %").format(0.0512)
        '5.12'
        """
        return f"{self.in_unit(value):.{self.digits}f}".replace("-", "−")

    def format_signed(self, value: float) -> str:
        """Return a difference as tables print it, with its sign.

        >>> MetricSpec(key="error", label="Error, %").format_signed(0.01)
        '+1.00'
        """
        text = self.format(value)
        return text if value < 0 or float(text) == 0 else f"+{text}"


class MetricValue(MetricSpec):
    """A metric of one evaluation."""

    value: float
    interval: tuple[float, float] | None  # 95 % bootstrap interval over images, where there is one


# An evaluation: evaluation.json


class ReliabilityBins(Record):
    """Bins of predicted confidence; those of an empty bin are not used."""

    edges: list[float]
    count: list[Count]
    confidence: list[float | None]
    accuracy: list[float | None]

    @model_validator(mode="after")
    def _check(self) -> "ReliabilityBins":
        num = len(self.edges) - 1
        _need_lengths(num, count=self.count, confidence=self.confidence, accuracy=self.accuracy)
        _need(sum(self.count) > 0, "reliability must have at least one image", self.count)
        return self


class ReliabilityPair(Record):
    """Reliability before and after temperature scaling."""

    before: ReliabilityBins
    after: ReliabilityBins


class ConfidenceHistogram(Record):
    """Right and wrong answers in equal bins of confidence."""

    right: list[Count] = Field(min_length=1)
    wrong: list[Count]

    _check = _columns("right", "wrong")


class SetMetrics(Record):
    """What was measured on a set of images."""

    n: Count
    error: Share
    top5_error: Share
    before: dict[str, float]  # calibration, by the keys of `Evaluation.calibration`
    after: dict[str, float]  # the same after temperature scaling
    reliability: ReliabilityPair
    histogram: ConfidenceHistogram

    @property
    def bins(self) -> tuple[list[float], list[float], int]:
        """Where bins of confidence end; those of two evaluations must agree."""
        pair = self.reliability
        return pair.before.edges, pair.after.edges, len(self.histogram.right)


class PerClass(Record):
    """Images, error, NLL and Brier score of each class (null without images), and confusion."""

    count: list[Count]
    error: list[float | None]
    nll: list[float | None]
    brier: list[float | None]
    confusion: list[list[Count]]  # a row for each true class, a column for each answer


class CorruptionResult(Record):
    """Accuracy and its standard error over images at each level of a corruption."""

    levels: list[float] = Field(min_length=1)  # the first changes nothing
    accuracy: list[float]
    se: list[float]
    draws: Count
    n: Count

    _check = _columns("levels", "accuracy", "se")


class ImagePrediction(Record):
    """A picture and the likeliest classes, each with its confidence."""

    png: str = Field(pattern=r"^[A-Za-z0-9+/]+={0,2}$")  # base64
    answers: list[tuple[Count, Share]] = Field(min_length=1)


class Example(ImagePrediction):
    """A test image as it is."""

    index: Count
    label: Count


class OccludedExamples(Record):
    """The first examples with a share of each hidden."""

    share: Share
    images: list[ImagePrediction]


class Examples(Record):
    """Test images with the network's predictions."""

    whole: list[Example]
    occluded: list[OccludedExamples]

    @property
    def images(self) -> tuple[list[tuple[int, int]], list[tuple[float, int]]]:
        """Which images these are; those of two evaluations must agree."""
        whole = [(example.index, example.label) for example in self.whole]
        return whole, [(hidden.share, len(hidden.images)) for hidden in self.occluded]


class Temperature(Record):
    """The temperatures of the measured images (image i takes number i modulo their count)."""

    values: list[float] = Field(min_length=1)
    how: str
    others: float  # of extra test sets


class Neighbors(Record):
    """Errors of nearest neighbors: of trained features, untrained ones, and pixels."""

    neighbors: Count
    knn_error: Share
    knn_untrained_error: Share
    knn_pixels_error: Share


class Member(Record):
    """A trained network: one, or several in an ensemble."""

    folder: str
    run_id: str | None = None  # as in its run.json; absent in evaluations of 0.1
    seed: Count
    step: Count
    num_steps: Count
    finished: bool
    weights_sha256: str
    history: list[MetricsRow]  # rows of metrics.jsonl


class Evaluation(ResultFile):
    """evaluation.json: everything that was measured of a run or an ensemble."""

    remedy: ClassVar[str] = "run `softaug evaluate {folder}` again"

    kind: Literal["evaluation"] = "evaluation"
    name: str
    recipe: RecipeDict
    members: list[Member] = Field(min_length=1)
    class_names: list[str] = Field(min_length=1)
    split: str  # the set of images that `metrics` without a prefix are of
    temperature: Temperature
    test_sets: dict[str, SetMetrics]
    per_class: PerClass
    corruptions: dict[str, CorruptionResult]
    fill: list[int]  # of hidden patches and borders, a gray level for each channel
    examples: Examples
    features: Neighbors | None = None  # of a network that learned without labels
    metrics: list[MetricValue]
    calibration: list[MetricSpec]
    command: str
    environment: Environment
    predictions_sha256: str

    @property
    def main_set(self) -> SetMetrics:
        """What was measured on the split that the evaluation is about."""
        return self.test_sets[self.split]

    @property
    def seed(self) -> int:
        """The seed of the first network."""
        return self.members[0].seed

    @property
    def values(self) -> dict[str, float]:
        """The value of each metric by its key."""
        return {metric.key: metric.value for metric in self.metrics}

    @model_validator(mode="after")
    def _check(self) -> "Evaluation":
        sets, num = list(self.test_sets), len(self.class_names)
        _need(self.split in sets, f"test_sets must hold {self.split}", sets)
        _need_unique("keys of metrics", [metric.key for metric in self.metrics])
        _need_unique("keys of calibration", [metric.key for metric in self.calibration])
        _need_calibration(self.calibration, self)
        _need_lengths(num, **dict(self.per_class))
        lengths = {len(row) for row in self.per_class.confusion}
        _need(lengths == {num}, f"rows of confusion must have {num} values each", lengths)
        whole, occluded = self.examples.whole, self.examples.occluded
        labels = [example.label for example in whole]
        _need(all(label < num for label in labels), f"labels must be in 0..{num - 1}", labels)
        for image in [*whole, *(image for level in occluded for image in level.images)]:
            classes = [answer[0] for answer in image.answers]
            good = all(number < num for number in classes)
            _need(good, f"classes of answers must be in 0..{num - 1}", classes)
        most = max((len(level.images) for level in occluded), default=0)
        _need(most <= len(whole), "occluded images must be the first of the whole ones", most)
        return self


def read_evaluation(path: Path) -> Evaluation:
    """Read an evaluation.json; refuse that of another run than the run.json beside it is of."""
    evaluation, run = read(path, Evaluation), path.with_name(RUN)
    ids = [member.run_id for member in evaluation.members]
    if run.exists() and len(ids) == 1 and ids[0] is not None:
        run_id = read(run, RunIdentity).run_id
        remedy = Evaluation.remedy.format(folder=path.parent)
        if ids[0] != run_id:
            refuse(str(path), f"the file must be of the run {run_id}", f"that of {ids[0]}", remedy)
    return evaluation


def _need_calibration(specs: Sequence[MetricSpec], evaluation: Evaluation) -> None:
    """Refuse an evaluation that lacks a calibration metric for any of its sets."""
    for name, metrics in evaluation.test_sets.items():
        missing = [
            s.key for s in specs if s.key not in metrics.before or s.key not in metrics.after
        ]
        rule = f"test set {name!r} must hold every calibration metric before and after scaling"
        _need(not missing, rule, f"no {', '.join(missing)}")


# A comparison: comparison.json


class Arm(Record):
    """Evaluations of one name, by several seeds."""

    name: str
    seeds: list[Count]
    folders: list[str]
    values: dict[str, list[float]]  # of each metric, one for each seed
    estimates: dict[str, Estimate]
    evaluations: list[Evaluation] = Field(min_length=1)


class Pair(Record):
    """One arm minus another."""

    arm: str
    against: str
    seeds: list[Count]  # that both have
    by_seed: dict[str, Estimate]
    by_image: dict[str, Interval]
    verdicts: dict[str, Verdict]


class Comparison(ResultFile):
    """comparison.json: arms of several seeds, and what their differences show."""

    remedy: ClassVar[str] = "run `softaug evaluate` and `softaug compare` again"

    kind: Literal["comparison"] = "comparison"
    metrics: list[MetricSpec]  # that every evaluation has
    calibration: list[MetricSpec]
    arms: list[Arm] = Field(min_length=1)
    pairs: list[Pair]
    command: str
    environment: Environment

    @property
    def shared_sets(self) -> list[str]:
        """Sets of images that every evaluation was measured on, the split first."""
        every = [evaluation.test_sets for arm in self.arms for evaluation in arm.evaluations]
        return [name for name in every[0] if all(name in sets for sets in every)]

    @model_validator(mode="after")
    def _check(self) -> "Comparison":
        names, keys = [arm.name for arm in self.arms], [metric.key for metric in self.metrics]
        _need_unique("names of arms", names)
        _need_unique("keys of metrics", keys)
        _need_unique("keys of calibration", [metric.key for metric in self.calibration])
        for arm in self.arms:
            num = len(arm.evaluations)
            _need(len(arm.seeds) == num, f"arm {arm.name!r} must have {num} seeds", arm.seeds)
            for key in keys:
                keys, values = list(arm.estimates), arm.values.get(key, [])
                _need(key in keys, f"estimates of {arm.name!r} must hold {key}", keys)
                rule = f"values of {key} of {arm.name!r} must be {num} numbers"
                _need(len(values) == num, rule, values)
            for evaluation in arm.evaluations:
                _need_calibration(self.calibration, evaluation)
                check_comparable(evaluation, self.arms[0].evaluations[0])
        for pair in self.pairs:
            for name in (pair.arm, pair.against):
                _need(name in names, f"a pair must be of {names}", name)
            missing = [key for key in keys if key not in pair.verdicts]
            _need(not missing, "a pair must have a verdict on each metric", f"no {missing}")
        return self


def check_comparable(evaluation: Evaluation, first: Evaluation) -> None:
    """Refuse an evaluation that cannot be shown beside another."""
    names = evaluation.class_names
    _need(names == first.class_names, "all must have the same classes", names)
    _need(evaluation.split == first.split, f"all must be of {first.split}", evaluation.split)
    for name in evaluation.test_sets.keys() & first.test_sets.keys():
        bins = evaluation.test_sets[name].bins
        same = bins == first.test_sets[name].bins
        _need(same, "all must have the same bins of confidence", bins)
    for name in evaluation.corruptions.keys() & first.corruptions.keys():
        levels = evaluation.corruptions[name].levels
        same = levels == first.corruptions[name].levels
        _need(same, f"all must have the same levels of {name}", levels)
    images = evaluation.examples.images
    _need(images == first.examples.images, "all must have the same examples", images)


# A table, figure or study of a grid: NAME.json


CellState = Literal[
    "complete", "partial", "diverged", "waiting", "no data", "not at this scale", "quoted"
]


class PublishedNumber(Record):
    """A number of the paper in %, as it prints it; a standard error of 0 is its "<0.01"."""

    value: float | None  # null where the paper says that training diverged
    se: float | None
    source: str = ""  # whose number it is, where the paper quotes it


class MeasuredNumber(Record):
    """Ours in %: one value a seed, their mean, and how many of the planned runs are done."""

    values: list[float] = Field(min_length=1)
    mean: float
    se: float | None
    n: Count
    planned: Count

    @model_validator(mode="after")
    def _check(self) -> "MeasuredNumber":
        good = len(self.values) == self.n <= self.planned
        got = f"{len(self.values)} values, n {self.n}, planned {self.planned}"
        _need(good, "n must count the values and be at most planned", got)
        return self


class DivergedRuns(Record):
    """Our runs whose training diverged, by seed, of so many planned."""

    seeds: list[Count]
    planned: Count


class CollectedCell(Record):
    """One number of a row: what is measured, on which images, the paper's and ours."""

    measure: str
    on: str  # "" for the test images as they are
    paper: PublishedNumber | None
    ours: MeasuredNumber | None
    diverged: DivergedRuns | None = None
    state: CellState
    why: str  # the state explained, where it needs it

    @model_validator(mode="after")
    def _check(self) -> "CollectedCell":
        done = self.state in ("complete", "partial")
        _need(not done or self.ours is not None, f"a {self.state} cell must have ours", None)
        explained = self.state != "diverged" or self.diverged is not None
        _need(explained, "a diverged cell must say which seeds", None)
        return self


class CollectedRow(Record):
    """A row of a table; `baseline` is the label of the row that gains count from."""

    group: str
    label: str
    recipe: str | None
    baseline: str | None
    quoted: str | None
    ran: str = ""
    """what was really run at this scale: network, data, epochs"""
    cells: list[CollectedCell]


class CollectedLine(Record):
    """A line of a panel: ours at each x (null where no run is done), and the paper's."""

    label: str
    x: list[float]
    mean: list[float | None]
    se: list[float | None]
    n: list[Count]
    paper: list[float | None]

    _check = _columns("x", "mean", "se", "n", "paper")


class CollectedPanel(Record):
    """Axes with lines."""

    title: str
    x_label: str
    y_label: str
    lines: list[CollectedLine]


class CropDraws(Record):
    """Draws of the crop of a row: offsets (dx, dy) in pixels and the confidence each leaves."""

    label: str
    size: Count
    offsets: list[tuple[float, float]]
    confidence: list[Share]

    _check = _columns("offsets", "confidence")


FIGURE_PARTS = {
    "figure1": "crops",
    "figure3": "panels",
    "figure4": "runs",
    "figure5": "panels",
    "figure6": "runs",
    "figure7": "runs",
    "budgets": "panels",
}


class CollectedTable(ResultFile):
    """tableN.json, figureN.json: a table, figure or study as far as its runs have come."""

    remedy: ClassVar[str] = "run `softaug reproduce` again"
    written_as_schema_1: ClassVar[bool] = True

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    scale: str
    complete: bool
    notes: list[str]
    environment: Environment
    rows: list[CollectedRow]
    panels: list[CollectedPanel] = []  # of figures 3 and 5, and of studies by budget
    crops: list[CropDraws] = []  # of figure 1
    runs: list[str] = []  # of figures 4, 6 and 7: a run's folder for each arm, relative to the file
    labels: list[str] = []  # of the arms in `runs`, which else are called by their folders

    @model_validator(mode="after")
    def _check(self) -> "CollectedTable":
        part = FIGURE_PARTS.get(self.name)
        _need(part is None or bool(getattr(self, part or "rows")), f"{part} must be there", [])
        labels = [row.label for row in self.rows]
        for row in self.rows:
            exists = row.baseline is None or row.baseline in labels
            _need(exists, f"baseline of {row.label!r} must be the label of a row", row.baseline)
        names = self.labels or self.runs
        good = len(set(names)) == len(names) == len(self.runs)
        _need(good, "labels must be one for each of the runs, all different", names)
        return self
