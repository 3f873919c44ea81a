"""Everything that is computed from logits and labels, as plain numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.lab.data.images import Source
from softaug.lab.evaluation.stats import bootstrap_interval, bootstrap_intervals
from softaug.lab.models import Normalize
from softaug.lab.recipes.config import PretrainRecipe
from softaug.lab.training.linear_probe import feature_parts
from softaug.lab.training.setup import TrainingData
from softaug.lab.training.ssl import NEIGHBOURS, build_pair_net
from softaug.metrics import (
    apply_temperature,
    calibration_summary,
    class_brier,
    class_count,
    class_error,
    class_nll,
    confusion_matrix,
    error,
    fit_temperature,
    image_brier,
    image_error,
    image_gap,
    image_nll,
    knn_predict,
    reliability,
    sum_gaps,
)

DIGITS = 6


def measures(logits: Tensor, labels: Tensor, scaled: Tensor) -> dict[str, Any]:
    """Errors and calibration; `scaled` are the logits after temperature scaling."""
    return {
        "n": len(labels),
        "error": float(error(logits, labels)),
        "top5_error": float(error(logits, labels, top=min(5, logits.shape[1]))),
        "before": _calibration(logits, labels),
        "after": _calibration(scaled, labels),
        "reliability": {
            "before": _reliability(logits, labels),
            "after": _reliability(scaled, labels),
        },
        "histogram": confidence_histogram(logits, labels),
    }


def _calibration(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Every calibration figure of logits that are scaled already."""
    found = calibration_summary(logits, labels)
    return {name: value for name, value in found.items() if name != "temperature"}


def per_class(logits: Tensor, labels: Tensor) -> dict[str, Any]:
    """Images, error, NLL and Brier score of each class (None where it has no image), and the
    confusion matrix.
    """
    num_classes = logits.shape[1]
    return {
        "count": class_count(labels, num_classes).tolist(),
        "error": _known(class_error(logits, labels)),
        "nll": _known(class_nll(logits, labels)),
        "brier": _known(class_brier(logits.softmax(1), labels)),
        "confusion": confusion_matrix(logits, labels).tolist(),
    }


def _known(values: Tensor) -> list[float | None]:
    """Rounded numbers; None for NaN, which JSON has not."""
    return [None if value != value else round(value, DIGITS) for value in values.tolist()]


def confidence_histogram(logits: Tensor, labels: Tensor, bins: int = 20) -> dict[str, list[int]]:
    """How many right and wrong answers were given with which confidence, in equal bins."""
    confidence, answer = logits.softmax(1).max(1)
    place = (confidence * bins).long().clamp_max(bins - 1)
    right = answer == labels
    return {
        "right": torch.bincount(place[right], minlength=bins).tolist(),
        "wrong": torch.bincount(place[~right], minlength=bins).tolist(),
    }


def halves_temperatures(logits: Tensor, labels: Tensor) -> list[float]:
    """For each half of the images, every other one, the temperature that suits the other half.

    So no image is scaled by a temperature that has seen it.
    """
    return [fit_temperature(logits[1 - mine :: 2], labels[1 - mine :: 2]) for mine in (0, 1)]


def scale(logits: Tensor, temperatures: Sequence[float]) -> Tensor:
    """Logits after temperature scaling; of T temperatures, image i takes that at i modulo T."""
    scaled, num = logits.clone(), len(temperatures)
    for place, temperature in enumerate(temperatures):
        scaled[place::num] = apply_temperature(logits[place::num], temperature)
    return scaled


def _reliability(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    found = reliability(logits.softmax(1), labels, bins=15)._asdict()
    return {
        name: [round(value, DIGITS) for value in values.tolist()] for name, values in found.items()
    }


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
    rows = [*_of_set_measure_list(sets[split]), *_neighbours(evaluation.get("features"))]
    rows += _robustness(evaluation["robustness"])
    for name, measured in sets.items():
        if name != split:
            rows += [
                (_named(name, split, shown), value)
                for shown, value in _of_set_measure_list(measured)
            ]
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


def _of_set_measure_list(measured: Mapping[str, Any]) -> Iterator[tuple[Shown, float]]:
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


def image_values(
    evaluation: Mapping[str, Any], kept: Mapping[str, Tensor]
) -> dict[str, dict[str, Tensor]]:
    """For each set of images the values [N] of each measure, by its key.

    `kept` is what predictions.safetensors holds. A calibration error is no mean over images.
    """
    split = evaluation["split"]
    found = {}
    for name in evaluation["sets"]:
        logits, labels = kept[f"{name}_logits"], kept[f"{name}_labels"]
        scaled = scale(logits, kept[f"{name}_temperature"].tolist())
        values = _of_set(logits, labels, scaled)
        found[name] = {set_key(name, split, key): column for key, column in values.items()}
    found[split] |= _of_ordeals(evaluation["robustness"], kept)
    found[split] |= _of_neighbours(kept)
    return found


def image_intervals(
    evaluation: Mapping[str, Any], kept: Mapping[str, Tensor]
) -> dict[str, list[float]]:
    """95 % bootstrap intervals over images of these and of the ECE (15 bins), by key.

    The ECE's, moved to its value by `bootstrap_interval`, ends where ECE does: at 0 and 1.
    """
    found: dict[str, list[float]] = {}
    for name, values in image_values(evaluation, kept).items():
        found |= {key: [one.low, one.high] for key, one in bootstrap_intervals(values).items()}
        gaps = image_gap(kept[f"{name}_logits"].softmax(1), kept[f"{name}_labels"])
        ece = bootstrap_interval(gaps, sum_gaps)
        ends = [max(ece.low, 0.0), min(ece.high, 1.0)]
        found[set_key(name, evaluation["split"], "ece_15")] = ends
    return found


def _of_set(logits: Tensor, labels: Tensor, scaled: Tensor) -> dict[str, Tensor]:
    return {
        "error": image_error(logits, labels),
        "top5_error": image_error(logits, labels, top=min(5, logits.shape[1])),
        "nll": image_nll(logits, labels),
        "brier": image_brier(logits.softmax(1), labels),
        "nll_scaled": image_nll(scaled, labels),
    }


def _of_neighbours(kept: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Whether neighbours gave a wrong answer for each image, where they were asked."""
    names = (name for name in kept if name.startswith("knn"))
    return {name.replace("_wrong", "_error"): kept[name].double() for name in names}


def _of_ordeals(robustness: Mapping[str, Any], kept: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Share of the draws in which each image was recognised, at each level but the first."""
    return {
        level_key(name, level): kept[f"{name}_right"][:, place].double() / found["draws"]
        for name, found in robustness.items()
        for place, level in enumerate(found["levels"])
        if place > 0
    }


Tick = Callable[[int, str], None]
MOST_PIXELS = 32  # an edge: photographs are shrunk before their pixels are compared
KINDS = {"knn": "trained", "knn_untrained": "untrained network", "knn_pixels": "raw pixels"}


def neighbour_errors(
    backbone: nn.Module, recipe: PretrainRecipe, data: TrainingData, test: Source, tick: Tick
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Errors of nearest neighbours among the training images, and which images were wrong.

    Of the trained features, and of two that a training must beat: the same network untrained,
    and standardised pixels. `tick` is told of images as they are done.
    """
    device = next(backbone.parameters()).device
    untrained = build_pair_net(recipe, data).backbone.to(device)
    pixels = Pixels(data).to(device)
    found: dict[str, Any] = {"neighbours": min(NEIGHBOURS, len(data.train.labels))}
    kept: dict[str, Tensor] = {}
    for (name, note), net in zip(KINDS.items(), (backbone, untrained, pixels), strict=True):
        known, asked = (_all(net, recipe, part, tick, note) for part in (data.train, test))
        answers = knn_predict(known, data.train.labels, asked, k=found["neighbours"])
        kept[f"{name}_wrong"] = answers.cpu() != test.labels.cpu()
        found[f"{name}_error"] = float(kept[f"{name}_wrong"].double().mean())
    return found, kept


def num_images(data: TrainingData, test: Source) -> int:
    """Images that `neighbour_errors` looks at."""
    return len(KINDS) * (len(data.train.labels) + len(test.labels))


class Pixels(nn.Module):
    """Standardised pixels as features, of at most 32 x 32 pixels."""

    def __init__(self, data: TrainingData) -> None:
        super().__init__()
        self.normalize = Normalize(data.mean, data.sd)
        self.nothing = nn.Parameter(torch.empty(0))  # says where it is

    def forward(self, images: Tensor) -> Tensor:
        edge = min(MOST_PIXELS, *images.shape[-2:])
        return F.adaptive_avg_pool2d(self.normalize(images), edge).flatten(1)


def export_features(
    backbone: nn.Module, recipe: PretrainRecipe, parts: dict[str, Source], path: Path
) -> None:
    """Write features [N, D] and labels [N] of each part, images as they are, for other uses."""
    tensors: dict[str, Tensor] = {}
    for name, source in parts.items():
        tensors[f"{name}_features"] = torch.cat(list(feature_parts(backbone, recipe, source))).cpu()
        tensors[f"{name}_labels"] = source.labels.cpu().clone()
    path.parent.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(tensors, path)


def _all(net: nn.Module, recipe: PretrainRecipe, source: Source, tick: Tick, note: str) -> Tensor:
    parts = []
    for part in feature_parts(net, recipe, source):
        parts.append(part)
        tick(len(part), f"neighbours, {note}")
    return torch.cat(parts)
