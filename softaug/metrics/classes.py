"""Which classes a model gets wrong, and what it takes them for."""

from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_integers, check_whole, describe, refuse
from softaug.metrics.accuracy import image_brier, image_nll
from softaug.metrics.binning import sum_by
from softaug.metrics.scores import check_probs, check_scores


def class_count(labels: Tensor, num_classes: int) -> Tensor:
    """Samples of each class, [C] int64.

    >>> class_count(torch.tensor([0, 2, 2]), num_classes=3)
    tensor([1, 0, 2])
    """
    _check_plain_labels("class_count", labels)
    check_whole("class_count", "num_classes", num_classes, least=2)
    low, high = (int(bound) for bound in labels.aminmax())
    if low < 0 or high >= num_classes:
        wrong = low if low < 0 else high
        refuse("class_count", f"labels must be in 0..{num_classes - 1}", wrong)
    return torch.bincount(labels, minlength=num_classes)


def class_error(logits: Tensor, labels: Tensor, num_classes: int | None = None) -> Tensor:
    """Error among the samples of each class, [C]; NaN for a class that has none.

    Weighted by `class_count` they average to `error`. `num_classes`, where given, must be
    the number of columns of the logits.

    >>> logits = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]])
    >>> class_error(logits, torch.tensor([0, 0, 1]))
    tensor([0.5000, 0.0000, nan], dtype=torch.float64)
    """
    logits, labels = check_scores("class_error", "logits", logits, labels)
    if num_classes is not None and num_classes != logits.shape[1]:
        rule = f"num_classes must be the {logits.shape[1]} columns of the logits"
        refuse("class_error", rule, num_classes)
    table = _confusion(logits, labels)
    return 1 - table.diagonal().double() / table.sum(1)


def class_nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of the samples of each class, [C]; NaN where it has none.

    >>> class_nll(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor([1.0986, 1.0986,    nan], dtype=torch.float64)
    """
    logits, labels = check_scores("class_nll", "logits", logits, labels)
    return _class_mean(image_nll(logits, labels), labels, logits.shape[1])


def class_brier(probs: Tensor, labels: Tensor) -> Tensor:
    """Mean Brier score of the samples of each class, [C]; NaN for a class that has none.

    >>> class_brier(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([0, 0]))
    tensor([1.2500,    nan], dtype=torch.float64)
    """
    probs, labels = check_probs("class_brier", probs, labels)
    return _class_mean(image_brier(probs, labels), labels, probs.shape[1])


def confusion(logits: Tensor, labels: Tensor) -> Tensor:
    """Counts [C, C] int64: row the true class, column the class with the highest logit.

    >>> logits = torch.tensor([[1.0, 0], [0, 1], [0, 1]])
    >>> confusion(logits, torch.tensor([0, 0, 1]))
    tensor([[1, 1],
            [0, 1]])
    """
    return _confusion(*check_scores("confusion", "logits", logits, labels))


def _class_mean(values: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Mean of the values [N] of each class's samples, [C]; 0 / 0 is NaN."""
    return sum_by(labels, values, num_classes) / torch.bincount(labels, minlength=num_classes)


def _confusion(logits: Tensor, labels: Tensor) -> Tensor:
    num_classes = logits.shape[1]
    cell = labels * num_classes + logits.argmax(1)
    return torch.bincount(cell, minlength=num_classes**2).view(num_classes, num_classes)


def _check_plain_labels(who: str, labels: Any) -> None:
    if not isinstance(labels, Tensor) or labels.ndim != 1 or len(labels) == 0:
        refuse(who, "labels must be a non-empty tensor [N]", describe(labels))
    check_integers(who, "labels", labels)
