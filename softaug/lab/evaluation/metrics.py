"""The metrics of an evaluation, declared once in `METRICS`, and the corruptions it measures.

Metrics are computed from logits; images are corrupted the same way for every network.
"""

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Literal, NamedTuple

import torch
from PIL import Image
from torch import Generator, Tensor

from softaug.lab.data.images import Source
from softaug.lab.evaluation.stats import bootstrap_interval, bootstrap_intervals
from softaug.lab.schema import (
    ConfidenceHistogram,
    CorruptionResult,
    Example,
    Examples,
    ImagePrediction,
    MetricSpec,
    MetricValue,
    Neighbors,
    OccludedExamples,
    PerClass,
    ReliabilityBins,
    ReliabilityPair,
    SetMetrics,
)
from softaug.lab.training.setup import derive_seed
from softaug.metrics import (
    add_noise,
    apply_temperature,
    calibration_summary,
    class_count,
    class_mean,
    confusion_matrix,
    error,
    fit_temperature,
    image_auroc,
    image_brier,
    image_error,
    image_gap,
    image_nll,
    max_probability,
    negative_energy,
    occlude,
    reliability,
    shift_images,
    sum_gaps,
    sum_smooth_gaps,
)

CorruptionName = Literal["occlusion", "shift", "noise", "common"]
CORRUPTIONS: tuple[CorruptionName, ...] = ("occlusion", "shift", "noise")  # unless others are named
COMMON = "common/"  # what names of common corruptions and their metrics begin with
OOD = "ood/"  # what names of sets of other classes and their metrics begin with
CORRUPTION_LABELS = {
    "occlusion": "{:.0%} hidden",
    "shift": "{:.0%} left in frame",
    "noise": "noise {:g}",
}
DIGITS = 6  # of numbers by class and by bin
TOP = 5
NUM_BINS = 15  # of reliability diagrams
SMOOTH_BINS = 200  # for the interval of the smooth ECE


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


METRICS = (
    Metric(_spec("error", "Error, %"), image_error, listed=True),
    Metric(_spec("top5_error", "Top-5 error, %"), _image_top5, listed=True),
    # calibration, keys of `softaug.metrics.calibration_summary`
    Metric(_spec("nll", "NLL", percent=False, digits=3), image_nll, listed=True, scaled=True),
    Metric(_spec("brier", "Brier score", percent=False, digits=3), _image_brier, listed=True),
    Metric(_spec("ece_10", "ECE (10 bins), %"), listed=True),
    Metric(_spec("ece_15", "ECE (15 bins), %"), listed=True, scaled=True),
    Metric(_spec("ece_15_mass", "ECE (15 equal masses), %"), listed=True),
    Metric(_spec("smooth_ece", "Smooth ECE, %"), listed=True),
    Metric(_spec("l2_15_mass_debiased", "Debiased L2 (15 equal masses), %")),
    Metric(_spec("ece_15_classwise", "Class-wise ECE (15 bins), %", digits=3)),
    Metric(_spec("mce_15", "Maximum gap (15 bins), %")),
    Metric(_spec("gap", "Confidence minus accuracy, points")),
)
CALIBRATION = [metric.spec for metric in METRICS[2:]]
NEIGHBORS = (
    _spec("knn_error", "Nearest neighbors: error, %"),
    _spec("knn_untrained_error", "Nearest neighbors, untrained network: error, %"),
    _spec("knn_pixels_error", "Nearest neighbors, raw pixels: error, %"),
)
TRAINING = (  # on training images as they are; keys of result.json
    _spec("train_error_clean", "Training error, clean images, %", higher_is_better=None),
    _spec("train_confidence_clean", "Training confidence, clean images, %", higher_is_better=None),
)
HUMAN = _spec("human_nll", "Cross-entropy to human labels", percent=False, digits=3)
SCORES = {  # how familiar an image is: label, and function of logits
    "max-probability": ("maximum probability", max_probability),
    "energy": ("energy", negative_energy),
}


# Sets of images


def measure_set(logits: Tensor, labels: Tensor, scaled: Tensor) -> SetMetrics:
    """Measure errors and calibration; `scaled` are the logits after temperature scaling."""
    keys = [spec.key for spec in CALIBRATION]
    before, after = (calibration_summary(scores, labels) for scores in (logits, scaled))
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
    binned = reliability(logits.softmax(1), labels, bins=NUM_BINS)
    return ReliabilityBins(
        edges=_rounded(binned.edges),
        count=binned.count.long().tolist(),
        confidence=_finite(binned.confidence),
        accuracy=_finite(binned.accuracy),
    )


def measure_classes(logits: Tensor, labels: Tensor) -> PerClass:
    """Measure each class (None where it has no image), and count the confusions."""
    num = logits.shape[1]
    return PerClass(
        count=class_count(labels, num).tolist(),
        error=_finite(class_mean(image_error(logits, labels), labels, num)),
        nll=_finite(class_mean(image_nll(logits, labels), labels, num)),
        brier=_finite(class_mean(_image_brier(logits, labels), labels, num)),
        confusion=confusion_matrix(logits, labels).tolist(),
    )


def _rounded(values: Tensor) -> list[float]:
    return [round(value, DIGITS) for value in values.tolist()]


def _finite(values: Tensor) -> list[float | None]:
    """Round numbers; None takes the place of NaN, which JSON does not have."""
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
    return [fit_temperature(logits[1 - half :: 2], labels[1 - half :: 2]) for half in (0, 1)]


def scale(logits: Tensor, temperatures: Sequence[float]) -> Tensor:
    """Scale logits by temperatures; of T temperatures, image i takes that at i modulo T."""
    scaled, num = logits.clone(), len(temperatures)
    for first, temperature in enumerate(temperatures):
        scaled[first::num] = apply_temperature(logits[first::num], temperature)
    return scaled


# The list of metrics


def level_key(corruption: str, level: float) -> str:
    """Return the key of the accuracy at a level of a corruption.

    >>> level_key("occlusion", 0.4)
    'occlusion/0.4'
    """
    return f"{corruption}/{level:g}"


def set_key(name: str, split: str, key: str) -> str:
    """Return the key of a metric of a set of images: bare for the split that is measured.

    >>> set_key("test", "test", "error"), set_key("v2", "test", "error")
    ('error', 'v2/error')
    """
    return key if name == split else f"{name}/{key}"


def list_metrics(
    split: str,
    test_sets: Mapping[str, SetMetrics],
    corruptions: Mapping[str, CorruptionResult],
    features: Neighbors | None,
    numbers: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
) -> list[MetricValue]:
    """List every metric with its value and its interval over images, where it has one.

    The measured split comes first, then training images, nearest neighbors, corrupted images,
    those of other classes, and extra test sets, whose keys begin with their name. `numbers` are
    other metrics by their keys.
    """
    rows = _list_set(test_sets[split])
    rows += [(spec, numbers[spec.key]) for spec in (HUMAN, *TRAINING) if spec.key in numbers]
    if features is not None:
        rows += [(spec, getattr(features, spec.key)) for spec in NEIGHBORS]
    for name in (name for name in corruptions if not name.startswith(COMMON)):
        result = corruptions[name]
        for level, accuracy in list(zip(result.levels, result.accuracy, strict=True))[1:]:
            level_label = CORRUPTION_LABELS[name].format(level)
            rows.append((_accuracy_spec(level_key(name, level), level_label), accuracy))
    rows += _list_common(corruptions)
    rows += [(_ood_spec(key), value) for key, value in numbers.items() if key.startswith(OOD)]
    for name, measured in test_sets.items():
        if name != split:
            for spec, value in _list_set(measured):
                key, label = set_key(name, split, spec.key), f"{name}: {spec.label}"
                rows.append((spec.model_copy(update={"key": key, "label": label}), value))
    return [
        MetricValue(**spec.model_dump(), value=value, interval=intervals.get(spec.key))
        for spec, value in rows
    ]


def _accuracy_spec(key: str, level_label: str) -> MetricSpec:
    return _spec(key, f"Accuracy, {level_label}, %", digits=1, higher_is_better=True)


def _list_common(corruptions: Mapping[str, CorruptionResult]) -> list[tuple[MetricSpec, float]]:
    """List the mean accuracy under all common corruptions, then that under each."""
    accuracies = {
        n: fmean(result.accuracy[1:]) for n, result in corruptions.items() if n.startswith(COMMON)
    }
    if not accuracies:
        return []
    mean = _accuracy_spec(f"{COMMON}mean", f"mean of {len(accuracies)} common corruptions")
    kinds = [(name, name.removeprefix(COMMON).replace("-", " ")) for name in accuracies]
    specs = [mean, *(_accuracy_spec(*kind) for kind in kinds)]
    return list(zip(specs, [fmean(accuracies.values()), *accuracies.values()], strict=True))


def _ood_spec(key: str) -> MetricSpec:
    """Name the AUROC of "ood/NAME-SCORE"."""
    score = next(score for score in SCORES if key.endswith(f"-{score}"))
    name = key.removeprefix(OOD).removesuffix(f"-{score}")
    label = f"AUROC against {name}, {SCORES[score][0]}, %"
    return _spec(key, label, digits=1, higher_is_better=True)


def _list_set(measured: SetMetrics) -> list[tuple[MetricSpec, float]]:
    values = {"error": measured.error, "top5_error": measured.top5_error, **measured.before}
    listed = [(m.spec, values[m.spec.key]) for m in METRICS if m.listed]
    scaled = [(_scaled_spec(m.spec), measured.after[m.spec.key]) for m in METRICS if m.scaled]
    return listed + scaled


def _scaled_spec(spec: MetricSpec) -> MetricSpec:
    """Return the same metric after temperature scaling."""
    name, unit, _ = spec.label.partition(", %")
    update = {"key": f"{spec.key}_scaled", "label": f"{name}, scaled{unit}"}
    return spec.model_copy(update=update)


# One value for each image


def image_values(
    names: Iterable[str],
    split: str,
    corruptions: Mapping[str, CorruptionResult],
    predictions: Mapping[str, Tensor],
) -> dict[str, dict[str, Tensor]]:
    """Compute for each set of images the values [N] of each metric that is a mean, by key.

    `predictions` is what predictions.safetensors holds.
    """
    values: dict[str, dict[str, Tensor]] = {}
    for name in names:
        logits, labels = predictions[f"{name}_logits"], predictions[f"{name}_labels"]
        scaled = scale(logits, predictions[f"{name}_temperature"].tolist())
        values[name] = {}
        for spec, per_image, listed, after in METRICS:
            if per_image is not None and listed:
                values[name][set_key(name, split, spec.key)] = per_image(logits, labels)
            if per_image is not None and after:
                key = set_key(name, split, _scaled_spec(spec).key)
                values[name][key] = per_image(scaled, labels)
    common: dict[str, Tensor] = {}
    for name, result in corruptions.items():
        shares = predictions[f"{name}_right"].double() / result.draws  # [N, levels]
        if name.startswith(COMMON):
            common[name] = shares[:, 1:].mean(1)
            continue
        columns = zip(result.levels, shares.unbind(1), strict=True)
        values[split] |= {level_key(name, level): share for level, share in list(columns)[1:]}
    if common:
        values[split] |= {f"{COMMON}mean": torch.stack([*common.values()]).mean(0), **common}
    values[split] |= ood_values(predictions[f"{split}_logits"], predictions)
    if HUMAN.key in predictions:
        values[split][HUMAN.key] = predictions[HUMAN.key]
    wrong = {spec.key: spec.key.replace("_error", "_wrong") for spec in NEIGHBORS}
    values[split] |= {k: predictions[w].double() for k, w in wrong.items() if w in predictions}
    return values


def ood_values(logits: Tensor, predictions: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Compute for each set of other classes and score values [N] whose mean is the AUROC, by key.

    Image i has the share of the other set's M images with a lower score, and beside it one of
    theirs, drawn in turn, with the share of ours that score higher, centered and times the root
    of N / M: so the mean varies as it does where both sets are drawn anew (DeLong et al. 1988).
    """
    values: dict[str, Tensor] = {}
    for key, others in predictions.items():
        for score, (_, function) in SCORES.items() if key.startswith(OOD) else ():
            inside, outside = function(logits), function(others)
            if score == "energy" and float(inside.abs().max()) < 1e-6:
                continue  # logarithms of probabilities, as of an ensemble
            order = torch.randperm(len(outside), generator=Generator().manual_seed(SEED))
            beyond = 1 - image_auroc(outside, inside)
            beyond = beyond[order[torch.arange(len(inside)) % len(outside)]]
            centered = (beyond - beyond.mean()) * (len(inside) / len(outside)) ** 0.5
            name = key.removesuffix("_logits")
            values[f"{name}-{score}"] = image_auroc(inside, outside) + centered
    return values


def image_intervals(
    names: Iterable[str],
    split: str,
    corruptions: Mapping[str, CorruptionResult],
    predictions: Mapping[str, Tensor],
) -> dict[str, tuple[float, float]]:
    """Bootstrap 95 % intervals of these values, the ECE (15 bins) and the smooth ECE, by key.

    An ECE's, moved to its value by `bootstrap_interval`, ends where ECE does: at 0 and 1.
    """
    ends: dict[str, tuple[float, float]] = {}
    for name, values in image_values(names, split, corruptions, predictions).items():
        ends |= {
            key: (interval.low, interval.high)
            for key, interval in bootstrap_intervals(values).items()
        }
        probs, labels = predictions[f"{name}_logits"].softmax(1), predictions[f"{name}_labels"]
        binned = {"ece_15": (NUM_BINS, sum_gaps), "smooth_ece": (SMOOTH_BINS, sum_smooth_gaps)}
        for key, (bins, statistic) in binned.items():
            ece = bootstrap_interval(image_gap(probs, labels, bins), statistic)
            ends[set_key(name, split, key)] = max(ece.low, 0.0), min(ece.high, 1.0)
    return ends


# Corrupted images


class Corruption(NamedTuple):
    """A kind of corruption and the levels at which accuracy is measured."""

    name: str
    levels: tuple[float, ...]
    """the first changes nothing"""
    apply: Callable[..., Tensor]
    """takes images, a level and a `generator`"""
    once: bool = False
    """whether it is drawn once, whatever the number of draws"""

    def corrupt(self, images: Tensor, level: int, draw: int, chunk: int) -> Tensor:
        """Corrupt images at a level of that index; the same way for every network.

        Drawn on the CPU, whose numbers are the same on every machine; applied where the images
        are.
        """
        draws = Generator().manual_seed(derive_seed(draw, level, chunk))
        return self.apply(images, self.levels[level], generator=draws)

    def summarize(self, right: Tensor, draws: int) -> CorruptionResult:
        """Compute the accuracy and its standard error over images at each level.

        `right` [N, levels] says in how many of the draws each image was recognized.
        """
        shares = right.double() / draws
        return CorruptionResult(
            levels=list(self.levels),
            accuracy=shares.mean(0).tolist(),
            se=(shares.std(0) / len(shares) ** 0.5).tolist(),
            draws=draws,
            n=len(shares),
        )


def make_corruptions(
    fill: Sequence[int], names: Sequence[CorruptionName] = CORRUPTIONS
) -> list[Corruption]:
    """Make occlusion (share hidden), shift (share left in frame), noise (sd, in full ranges).

    "common" makes the common corruptions, called "common/fog" and so on, by their severity.
    Patches and borders are `fill`, a gray level for each channel.
    """
    color = tuple(fill)
    corruptions = [
        Corruption("occlusion", (0.0, 0.2, 0.4, 0.6, 0.8), partial(occlude, fill=color)),
        Corruption("shift", (1.0, 0.8, 0.6, 0.4, 0.2), partial(shift_images, fill=color)),
        Corruption("noise", (0.0, 0.02, 0.05, 0.1, 0.2), add_noise),
    ]
    chosen = [corruption for corruption in corruptions if corruption.name in names]
    return chosen + _make_common() if "common" in names else chosen


def _make_common() -> list[Corruption]:
    from softaug.metrics import COMMON_CORRUPTIONS, corrupt

    def apply(kind: str, images: Tensor, severity: float, generator: Generator) -> Tensor:
        return corrupt(images, kind, int(severity), generator) if severity else images

    severities = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    return [
        Corruption(f"{COMMON}{kind}", severities, partial(apply, kind), once=True)
        for kind in COMMON_CORRUPTIONS
    ]


# Examples for pictures

NUM_EXAMPLES, NUM_OCCLUDED = 24, 8
SEED = 20230618  # the same images for every network, so that comparisons can pair them
NUM_ANSWERS = 3


def make_examples(
    source: Source, predict: Callable[[Tensor], Tensor], occlusion: Corruption
) -> Examples:
    """Draw images, the same for all networks, with this one's predictions, whole and occluded."""
    order = torch.randperm(len(source.labels), generator=Generator().manual_seed(SEED))
    index = order[:NUM_EXAMPLES]
    images, labels = source.fetch(index), source.labels[index]
    rows = zip(index.tolist(), labels.tolist(), _describe(images, predict(images)), strict=True)
    whole = [
        Example(index=number, label=label, **prediction.model_dump())
        for number, label, prediction in rows
    ]
    hidden = []
    for number, share in enumerate(occlusion.levels):
        corrupted = occlusion.corrupt(images[:NUM_OCCLUDED], number, draw=0, chunk=0)
        predictions = _describe(corrupted, predict(corrupted))
        hidden.append(OccludedExamples(share=share, images=predictions))
    return Examples(whole=whole, occluded=hidden)


def _describe(images: Tensor, logits: Tensor) -> list[ImagePrediction]:
    probs, classes = logits.cpu().softmax(1).topk(min(NUM_ANSWERS, logits.shape[1]))
    predictions = []
    for image, row, shares in zip(images, classes.tolist(), probs.tolist(), strict=True):
        answers = [(number, round(share, 4)) for number, share in zip(row, shares, strict=True)]
        predictions.append(ImagePrediction(png=encode_png(image), answers=answers))
    return predictions


def encode_png(image: Tensor) -> str:
    """Encode a uint8 image [3, H, W] as the text of a PNG file (base64)."""
    packed = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()
