"""The metrics of an evaluation: each is declared once, in `METRICS`, and computed from logits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.lab.evaluation.corruptions import CORRUPTION_LABELS
from softaug.lab.evaluation.stats import bootstrap_interval, bootstrap_intervals
from softaug.lab.schema import (
    ConfidenceHistogram,
    CorruptionResult,
    MetricSpec,
    MetricValue,
    Neighbors,
    PerClass,
    ReliabilityBins,
    ReliabilityPair,
    SetMetrics,
)
from softaug.metrics import (
    apply_temperature,
    calibration_summary,
    class_count,
    class_mean,
    confusion_matrix,
    error,
    fit_temperature,
    image_brier,
    image_error,
    image_gap,
    image_nll,
    reliability,
    sum_gaps,
)

DIGITS = 6  # of numbers by class and by bin
TOP = 5
NUM_BINS = 15  # of reliability diagrams


class Metric(NamedTuple):
    """A metric of a set of images, and where it is shown."""

    spec: MetricSpec
    per_image: Callable[[Tensor, Tensor], Tensor] | None = None
    """values [N] of logits [N, C] and labels [N] whose mean it is; None if it is no mean"""
    listed: bool = False
    """whether it is in the list of metrics, not only in the table of calibration"""
    scaled: bool = False
    """whether it is listed after temperature scaling too"""


def _spec(key: str, label: str, **options: Any) -> MetricSpec:
    return MetricSpec(key=key, label=label, **options)


def _image_top5(logits: Tensor, labels: Tensor) -> Tensor:
    return image_error(logits, labels, top=min(TOP, logits.shape[1]))


def _image_brier(logits: Tensor, labels: Tensor) -> Tensor:
    return image_brier(logits.softmax(1), labels)


ACCURACY = (
    Metric(_spec("error", "Error, %"), image_error, listed=True),
    Metric(_spec("top5_error", "Top-5 error, %"), _image_top5, listed=True),
)
CALIBRATION = (  # keys of `softaug.metrics.calibration_summary`
    Metric(_spec("nll", "NLL", percent=False, digits=3), image_nll, listed=True, scaled=True),
    Metric(_spec("brier", "Brier score", percent=False, digits=3), _image_brier, listed=True),
    Metric(_spec("ece_10", "ECE (10 bins), %"), listed=True),
    Metric(_spec("ece_15", "ECE (15 bins), %"), listed=True, scaled=True),
    Metric(_spec("ece_15_mass", "ECE (15 equal masses), %"), listed=True),
    Metric(_spec("l2_15_mass_debiased", "Debiased L2 (15 equal masses), %")),
    Metric(_spec("ece_15_classwise", "Class-wise ECE (15 bins), %", digits=3)),
    Metric(_spec("mce_15", "Maximum gap (15 bins), %")),
    Metric(_spec("gap", "Confidence minus accuracy, points")),
)
METRICS = ACCURACY + CALIBRATION
NEIGHBORS = (
    _spec("knn_error", "Nearest neighbors: error, %"),
    _spec("knn_untrained_error", "Nearest neighbors, untrained network: error, %"),
    _spec("knn_pixels_error", "Nearest neighbors, raw pixels: error, %"),
)
TRAINING = (  # on training images as they are; keys of result.json
    _spec("train_error_clean", "Training error, clean images, %"),
    _spec("train_confidence_clean", "Training confidence, clean images, %", higher_is_better=None),
)


# Sets of images


def measure_set(logits: Tensor, labels: Tensor, scaled: Tensor) -> SetMetrics:
    """Measure errors and calibration; `scaled` are the logits after temperature scaling."""
    keys = [metric.spec.key for metric in CALIBRATION]
    before, after = (calibration_summary(one, labels) for one in (logits, scaled))
    return SetMetrics(
        n=len(labels),
        error=float(error(logits, labels)),
        top5_error=float(error(logits, labels, top=min(TOP, logits.shape[1]))),
        before={key: before[key] for key in keys},
        after={key: after[key] for key in keys},
        reliability=ReliabilityPair(
            before=_reliability(logits, labels), after=_reliability(scaled, labels)
        ),
        histogram=confidence_histogram(logits, labels),
    )


def _reliability(logits: Tensor, labels: Tensor) -> ReliabilityBins:
    found = reliability(logits.softmax(1), labels, bins=NUM_BINS)
    return ReliabilityBins(
        edges=_rounded(found.edges),
        count=found.count.long().tolist(),
        confidence=_known(found.confidence),
        accuracy=_known(found.accuracy),
    )


def measure_classes(logits: Tensor, labels: Tensor) -> PerClass:
    """Measure each class (None where it has no image), and count the confusions."""
    num = logits.shape[1]
    return PerClass(
        count=class_count(labels, num).tolist(),
        error=_known(class_mean(image_error(logits, labels), labels, num)),
        nll=_known(class_mean(image_nll(logits, labels), labels, num)),
        brier=_known(class_mean(_image_brier(logits, labels), labels, num)),
        confusion=confusion_matrix(logits, labels).tolist(),
    )


def _rounded(values: Tensor) -> list[float]:
    return [round(value, DIGITS) for value in values.tolist()]


def _known(values: Tensor) -> list[float | None]:
    """Rounded numbers; None for NaN, which JSON has not."""
    return [None if value != value else value for value in _rounded(values)]


def confidence_histogram(logits: Tensor, labels: Tensor, bins: int = 20) -> ConfidenceHistogram:
    """Count right and wrong answers by their confidence, in equal bins."""
    confidence, answer = logits.softmax(1).max(1)
    index = (confidence * bins).long().clamp_max(bins - 1)
    right = answer == labels
    return ConfidenceHistogram(
        right=torch.bincount(index[right], minlength=bins).tolist(),
        wrong=torch.bincount(index[~right], minlength=bins).tolist(),
    )


# Temperatures


def halves_temperatures(logits: Tensor, labels: Tensor) -> list[float]:
    """Fit for each half of the images, every other one, the temperature on the other half.

    So no image is scaled by a temperature that has seen it.
    """
    return [fit_temperature(logits[1 - mine :: 2], labels[1 - mine :: 2]) for mine in (0, 1)]


def scale(logits: Tensor, temperatures: Sequence[float]) -> Tensor:
    """Scale logits by temperatures; of T temperatures, image i takes that at i modulo T."""
    scaled, num = logits.clone(), len(temperatures)
    for first, temperature in enumerate(temperatures):
        scaled[first::num] = apply_temperature(logits[first::num], temperature)
    return scaled


# The list of metrics


def level_key(corruption: str, level: float) -> str:
    """The key of the accuracy at a level of a corruption.

    >>> level_key("occlusion", 0.4)
    'occlusion/0.4'
    """
    return f"{corruption}/{level:g}"


def set_key(name: str, split: str, key: str) -> str:
    """The key of a metric of a set of images: bare for the split that is measured.

    >>> set_key("test", "test", "error"), set_key("v2", "test", "error")
    ('error', 'v2/error')
    """
    return key if name == split else f"{name}/{key}"


def list_metrics(
    split: str,
    test_sets: Mapping[str, SetMetrics],
    corruptions: Mapping[str, CorruptionResult],
    features: Neighbors | None,
    training: Mapping[str, float],
) -> Iterator[tuple[MetricSpec, float]]:
    """Yield every metric with its value.

    The measured split comes first, then training images, nearest neighbors, corrupted images,
    and extra test sets, whose keys begin with their name.
    """
    yield from _list_set(test_sets[split])
    for spec in TRAINING:
        if spec.key in training:
            yield spec, training[spec.key]
    if features is not None:
        for spec in NEIGHBORS:
            yield spec, getattr(features, spec.key)
    for name, found in corruptions.items():
        for level, accuracy in list(zip(found.levels, found.accuracy, strict=True))[1:]:
            label = f"Accuracy, {CORRUPTION_LABELS[name].format(level)}, %"
            yield _spec(level_key(name, level), label, digits=1, higher_is_better=True), accuracy
    for name, measured in test_sets.items():
        if name != split:
            for spec, value in _list_set(measured):
                key, label = set_key(name, split, spec.key), f"{name}: {spec.label}"
                yield spec.model_copy(update={"key": key, "label": label}), value


def _list_set(measured: SetMetrics) -> Iterator[tuple[MetricSpec, float]]:
    values = {"error": measured.error, "top5_error": measured.top5_error, **measured.before}
    for metric in METRICS:
        if metric.listed:
            yield metric.spec, values[metric.spec.key]
    for metric in METRICS:
        if metric.scaled:
            yield _scaled_spec(metric.spec), measured.after[metric.spec.key]


def _scaled_spec(spec: MetricSpec) -> MetricSpec:
    """The same metric after temperature scaling."""
    name, unit, _ = spec.label.partition(", %")
    update = {"key": f"{spec.key}_scaled", "label": f"{name}, scaled{unit}"}
    return spec.model_copy(update=update)


def with_intervals(
    metrics: Iterable[tuple[MetricSpec, float]], intervals: Mapping[str, tuple[float, float]]
) -> list[MetricValue]:
    """Return metrics with their intervals over images (None where there is none)."""
    return [
        MetricValue(**spec.model_dump(), value=value, interval=intervals.get(spec.key))
        for spec, value in metrics
    ]


# One value for each image


def image_values(
    names: Iterable[str],
    split: str,
    corruptions: Mapping[str, CorruptionResult],
    predictions: Mapping[str, Tensor],
) -> dict[str, dict[str, Tensor]]:
    """For each set of images the values [N] of each metric that is a mean over them, by key.

    `predictions` is what predictions.safetensors holds.
    """
    found = {}
    for name in names:
        logits, labels = predictions[f"{name}_logits"], predictions[f"{name}_labels"]
        scaled = scale(logits, predictions[f"{name}_temperature"].tolist())
        values = _set_values(logits, labels, scaled)
        found[name] = {set_key(name, split, key): column for key, column in values.items()}
    for name, result in corruptions.items():
        shares = predictions[f"{name}_right"].double() / result.draws  # [N, levels]
        columns = zip(result.levels, shares.unbind(1), strict=True)
        found[split] |= {level_key(name, level): share for level, share in list(columns)[1:]}
    wrong = {spec.key: spec.key.replace("_error", "_wrong") for spec in NEIGHBORS}
    found[split] |= {k: predictions[w].double() for k, w in wrong.items() if w in predictions}
    return found


def _set_values(logits: Tensor, labels: Tensor, scaled: Tensor) -> dict[str, Tensor]:
    values = {}
    for spec, per_image, listed, after in METRICS:
        if per_image is not None and listed:
            values[spec.key] = per_image(logits, labels)
        if per_image is not None and after:
            values[_scaled_spec(spec).key] = per_image(scaled, labels)
    return values


def image_intervals(
    names: Iterable[str],
    split: str,
    corruptions: Mapping[str, CorruptionResult],
    predictions: Mapping[str, Tensor],
) -> dict[str, tuple[float, float]]:
    """95 % bootstrap intervals over images of these and of the ECE (15 bins), by key.

    The ECE's, moved to its value by `bootstrap_interval`, ends where ECE does: at 0 and 1.
    """
    found: dict[str, tuple[float, float]] = {}
    for name, values in image_values(names, split, corruptions, predictions).items():
        found |= {key: (one.low, one.high) for key, one in bootstrap_intervals(values).items()}
        probs = predictions[f"{name}_logits"].softmax(1)
        ece = bootstrap_interval(image_gap(probs, predictions[f"{name}_labels"]), sum_gaps)
        found[set_key(name, split, "ece_15")] = max(ece.low, 0.0), min(ece.high, 1.0)
    return found
