"""One value for each image, of every measure that is a mean over images."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from softaug.evaluation.measure_list import level_key, set_key
from softaug.evaluation.measures import scale
from softaug.metrics import (
    bootstrap_interval,
    bootstrap_intervals,
    image_brier,
    image_error,
    image_gap,
    image_nll,
    summed_gap,
)


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
        ece = bootstrap_interval(gaps, summed_gap)
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
