"""Telling images of other classes from those that a model was trained for, by its logits."""

from typing import Any

import torch
from torch import Tensor

from softaug.checks import NotFiniteError, describe, refuse
from softaug.metrics.classification import check_matrix


def max_probability(logits: Tensor) -> Tensor:
    """The probability of each image's answer, [N]: higher for images of known classes.

    >>> max_probability(torch.tensor([[0.0, 0.0]]))
    tensor([0.5000], dtype=torch.float64)
    """
    return check_matrix("max_probability", "logits", logits).double().softmax(1).amax(1)


def negative_energy(logits: Tensor) -> Tensor:
    """The log of the summed exponentials, [N]: higher for images of known classes.

    Unlike probabilities it depends on the logits' level (Liu et al. 2020, temperature 1), which
    logarithms of probabilities have not.

    >>> negative_energy(torch.tensor([[3.0, 3.0]]))
    tensor([3.6931], dtype=torch.float64)
    """
    return check_matrix("negative_energy", "logits", logits).double().logsumexp(1)


def auroc(inside: Tensor, outside: Tensor) -> Tensor:
    """Area under the ROC curve of scores [N] of images inside and [M] outside the distribution.

    It is the chance that a random image inside has the higher score, ties counting half: 1
    tells all apart, 0.5 none.

    >>> auroc(torch.tensor([0.9, 0.6]), torch.tensor([0.6, 0.1]))
    tensor(0.8750, dtype=torch.float64)
    """
    return image_auroc(inside, outside).mean()


def image_auroc(inside: Tensor, outside: Tensor) -> Tensor:
    """For each image inside, the share of those outside with a lower score, ties half; [N].

    >>> image_auroc(torch.tensor([0.9, 0.6]), torch.tensor([0.6, 0.1]))
    tensor([1.0000, 0.7500], dtype=torch.float64)
    """
    scores = _check_scores("inside", inside)
    ordered = _check_scores("outside", outside).to(scores.device).sort().values
    lower = torch.searchsorted(ordered, scores)
    not_higher = torch.searchsorted(ordered, scores, right=True)
    return (lower + not_higher).double() / (2 * len(ordered))


def _check_scores(name: str, scores: Any) -> Tensor:
    if not isinstance(scores, Tensor) or scores.ndim != 1 or len(scores) == 0:
        refuse("auroc", f"{name} must be a non-empty tensor [N]", describe(scores))
    if not bool(scores.isfinite().all()):
        remedy = "a diverged model cannot be measured"
        refuse("auroc", f"{name} must be finite", describe(scores), remedy, NotFiniteError)
    return scores
