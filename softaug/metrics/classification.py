"""Error, NLL and Brier score of a set, its images and classes; AUROC against other classes."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.checks import (
    NotFiniteError,
    check_integers,
    check_num_classes,
    check_whole,
    describe,
    is_float,
    refuse,
)
from softaug.draws import has_float64


def error(logits: Tensor, labels: Tensor, top: int = 1) -> Tensor:
    """Compute the share of samples whose label is not among the `top` highest logits: 0 is perfect.

    >>> error(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    tensor(0.5000, dtype=torch.float64)
    >>> error(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([1]), top=2)
    tensor(0., dtype=torch.float64)
    """
    return image_error(logits, labels, top).mean()


def image_error(logits: Tensor, labels: Tensor, top: int = 1) -> Tensor:
    """Return 1 for each image whose label is not among the `top` highest logits, else 0; [N].

    >>> image_error(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    tensor([0., 1.], dtype=torch.float64)
    """
    logits, labels = check_scores("error", "logits", logits, labels)
    num_classes = logits.shape[1]
    if check_whole("error", "top", top, least=1) > num_classes:
        refuse("error", f"top must be at most the number of classes {num_classes}", top)
    if top == 1:
        return (logits.argmax(1) != labels).double()
    # Of equal logits the lower class is ahead, as in argmax: topk leaves this open.
    own = logits.gather(1, labels[:, None])
    before = torch.arange(num_classes, device=logits.device) < labels[:, None]
    ahead = (logits > own) | ((logits == own) & before)
    return (ahead.sum(1) >= top).double()


def nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Compute the mean negative log-likelihood of the labels, in nats: log C for a uniform guess.

    >>> nll(torch.zeros(1, 10), torch.tensor([3]))
    tensor(2.3026, dtype=torch.float64)
    """
    return image_nll(logits, labels).mean()


def image_nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Compute the negative log-likelihood of each image's label, in nats; [N].

    >>> image_nll(torch.tensor([[0.0, 0.0], [1000.0, 0.0]]), torch.tensor([0, 1]))
    tensor([6.9315e-01, 1.0000e+03], dtype=torch.float64)
    """
    logits, labels = check_scores("nll", "logits", logits, labels)
    return F.cross_entropy(logits.double(), labels, reduction="none")


def brier(probs: Tensor, labels: Tensor) -> Tensor:
    """Compute the Brier score: squared differences to the one-hot label, summed over classes.

    The mean over samples; 0 is perfect, 2 is sure and wrong. (For two classes it is twice
    the binary score.)

    >>> brier(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([0, 0]))
    tensor(1.2500, dtype=torch.float64)
    """
    return image_brier(probs, labels).mean()


def image_brier(probs: Tensor, labels: Tensor) -> Tensor:
    """Compute the Brier score of each image, [N].

    >>> image_brier(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([0, 0]))
    tensor([0.5000, 2.0000], dtype=torch.float64)
    """
    probs, labels = check_probs("brier", probs, labels)
    wide = probs.double()
    own = wide.gather(1, labels[:, None]).squeeze(1)
    # Every class's p^2, less the label's, plus its (1 - p)^2; never below 0 by rounding.
    return ((wide * wide).sum(1) + (1 - 2 * own)).clamp_min(0)


def class_count(labels: Tensor, num_classes: int) -> Tensor:
    """Count the samples of each class, [C] int64.

    >>> class_count(torch.tensor([0, 2, 2]), num_classes=3)
    tensor([1, 0, 2])
    """
    check_whole("class_count", "num_classes", num_classes, least=2)
    check_labels("class_count", "labels", labels, num_classes=num_classes)
    return torch.bincount(labels, minlength=num_classes)


def class_mean(values: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Average the values [N] of each class's samples, [C]; NaN for a class that has none.

    >>> labels = torch.tensor([0, 0, 1])
    >>> wrong = image_error(torch.eye(3)[[0, 1, 1]], labels)
    >>> class_mean(wrong, labels, num_classes=3)
    tensor([0.5000, 0.0000,    nan], dtype=torch.float64)
    """
    check_labels("class_mean", "labels", labels, len(values), num_classes)
    total = sum_by_bin(labels.long(), values, num_classes)
    return total / torch.bincount(labels, minlength=num_classes)


def confusion_matrix(logits: Tensor, labels: Tensor) -> Tensor:
    """Count images by true class (row) and class of the highest logit (column), [C, C] int64.

    >>> logits = torch.tensor([[1.0, 0], [0, 1], [0, 1]])
    >>> confusion_matrix(logits, torch.tensor([0, 0, 1]))
    tensor([[1, 1],
            [0, 1]])
    """
    logits, labels = check_scores("confusion_matrix", "logits", logits, labels)
    num_classes = logits.shape[1]
    cell = labels * num_classes + logits.argmax(1)
    return torch.bincount(cell, minlength=num_classes**2).view(num_classes, num_classes)


def ensemble_logits(logits: Sequence[Tensor]) -> Tensor:
    """Return the log of the models' mean softmax(logits), finite also where that underflows to 0.

    [N, C] each to [N, C] float64. It stands for the ensemble wherever logits are taken (`nll`,
    `calibration_summary`).

    >>> ensemble_logits([torch.tensor([[0.0, 2000.0]]), torch.tensor([[0.0, 1000.0]])])
    tensor([[-1000.6931,     0.0000]], dtype=torch.float64)
    """
    if isinstance(logits, Tensor) or not isinstance(logits, Sequence) or len(logits) == 0:
        rule = "logits must be a non-empty list of tensors [N, C], one for each model"
        refuse("ensemble_logits", rule, describe(logits))
    models = [check_matrix("ensemble_logits", "logits", model).double() for model in logits]
    for model in models:
        if model.shape != models[0].shape:
            rule = f"every model's logits must be {list(models[0].shape)} as the first's"
            refuse(
                "ensemble_logits", rule, describe(model), "predict the same images with every model"
            )
    each = torch.stack([model.log_softmax(1) for model in models])
    return each.logsumexp(0) - math.log(len(models))


# Separating images of other classes from those that a model was trained for


def max_probability(logits: Tensor) -> Tensor:
    """Return the probability of each image's answer, [N]: higher for images of known classes.

    >>> max_probability(torch.tensor([[0.0, 0.0]]))
    tensor([0.5000], dtype=torch.float64)
    """
    return check_matrix("max_probability", "logits", logits).double().softmax(1).amax(1)


def negative_energy(logits: Tensor) -> Tensor:
    """Return the log of the summed exponentials, [N]: higher for images of known classes.

    Unlike probabilities it depends on the logits' level (Liu et al. 2020, temperature 1), which
    logarithms of probabilities have not.

    >>> negative_energy(torch.tensor([[3.0, 3.0]]))
    tensor([3.6931], dtype=torch.float64)
    """
    return check_matrix("negative_energy", "logits", logits).double().logsumexp(1)


def auroc(inside: Tensor, outside: Tensor) -> Tensor:
    """Compute the area under the ROC curve of scores [N] of known classes and [M] of others.

    It is the chance that a random image inside has the higher score, ties counting half: 1 if
    the scores separate all, 0.5 if they separate none.

    >>> auroc(torch.tensor([0.9, 0.6]), torch.tensor([0.6, 0.1]))
    tensor(0.8750, dtype=torch.float64)
    """
    return image_auroc(inside, outside).mean()


def image_auroc(inside: Tensor, outside: Tensor) -> Tensor:
    """Compute for each image inside the share of those outside with a lower score, ties half; [N].

    >>> image_auroc(torch.tensor([0.9, 0.6]), torch.tensor([0.6, 0.1]))
    tensor([1.0000, 0.7500], dtype=torch.float64)
    """
    scores = _check_known("inside", inside).contiguous()
    ordered = _check_known("outside", outside).to(scores.device).sort().values
    lower = torch.searchsorted(ordered, scores)
    not_higher = torch.searchsorted(ordered, scores, right=True)
    return (lower + not_higher).double() / (2 * len(ordered))


def _check_known(name: str, scores: Any) -> Tensor:
    if not isinstance(scores, Tensor) or scores.ndim != 1 or len(scores) == 0:
        refuse("auroc", f"{name} must be a non-empty tensor [N]", describe(scores))
    if not bool(scores.isfinite().all()):
        remedy = "a diverged model cannot be measured"
        refuse("auroc", f"{name} must be finite", describe(scores), remedy, NotFiniteError)
    return scores


# Checks and bins


def check_scores(who: str, name: str, scores: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Return scores [N, C] and labels [N] int64, both on one device that has float64.

    Refuses all but finite scores with integer labels in 0..C - 1.
    """
    scores = check_matrix(who, name, scores)
    check_num_classes(who, scores.shape[1])
    check_labels(who, "labels", labels, len(scores), scores.shape[1])
    return scores, labels.to(scores.device).long()


def check_probs(who: str, probs: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Check as `check_scores`, and refuse rows that are no probabilities."""
    probs, labels = check_scores(who, "probs", probs, labels)
    away = (probs.sum(1, dtype=torch.float64) - 1).abs() > 0.01  # 0.01: bfloat16
    if bool(probs.min() < 0) or bool(away.any()):
        off = (probs.amin(1) < 0) | away
        row = probs[int(off.nonzero()[0])].detach().double()
        got = f"a row from {float(row.min()):g} to {float(row.max()):g} with sum {row.sum():g}"
        refuse(who, "rows of probs must be >= 0 and sum to 1", got, "use logits.softmax(1)")
    return probs, labels


def check_matrix(who: str, name: str, scores: Any) -> Tensor:
    """Return finite numbers [N, C], moved to the CPU where their device has no float64."""
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) == 0:
        refuse(who, f"{name} must be a non-empty tensor [N, C]", describe(scores))
    if not is_float(scores):
        refuse(who, f"{name} must be floating point", describe(scores))
    if not bool(torch.stack(scores.aminmax()).isfinite().all()):  # 20 times as fast as of all
        sample = int((~scores.isfinite()).any(1).nonzero()[0])
        got = f"{scores[sample].tolist()[:4]} (sample {sample})"
        remedy = "a diverged model cannot be measured"
        refuse(who, f"{name} must be finite", got, remedy, NotFiniteError)
    moved: Tensor = scores if has_float64(scores.device) else scores.cpu()
    return moved


def check_labels(
    who: str, name: str, labels: Any, num: int | None = None, num_classes: int | None = None
) -> None:
    """Refuse all but `num` class indices, [N], where they are given in 0..num_classes - 1."""
    if not isinstance(labels, Tensor) or labels.ndim != 1 or len(labels) != (num or len(labels)):
        each = "" if num is None else f" with one label for each of the {num} samples"
        refuse(who, f"{name} must be a tensor [N]{each}", describe(labels))
    if len(labels) == 0:
        refuse(who, f"{name} must be non-empty", describe(labels))
    check_integers(who, name, labels)
    low, high = (int(bound) for bound in labels.long().aminmax())
    if low < 0 or (num_classes is not None and high >= num_classes):
        bounds = ">= 0" if num_classes is None else f"in 0..{num_classes - 1}"
        remedy = "labels are class indices, one column of the scores for each class"
        refuse(who, f"{name} must be {bounds}", low if low < 0 else high, remedy)


BINNINGS = ("width", "mass")


def assign_bins(confidence: Tensor, bins: int, binning: str) -> Tensor:
    """Return the bin of each confidence, [N], in 0..bins - 1.

    "width": bin b is (b / bins, (b + 1) / bins], the first also holds 0. "mass": by rank; a
    sample's rank is the number of samples below it, so equal confidences are never parted
    (without ties, bin sizes differ by at most one; a large tie leaves bins after it empty).

    >>> assign_bins(torch.tensor([0.9, 0.9, 0.9, 1.0]), 2, "mass")
    tensor([0, 0, 0, 1])
    """
    if binning == "mass":
        rank = torch.searchsorted(confidence.sort().values, confidence)  # samples strictly below
        return rank * bins // len(confidence)
    # Rows may sum to a little over 1: bucketize puts those into the last bin, too.
    return torch.bucketize(confidence, equal_width_edges(bins, confidence)[1:-1])


def equal_width_edges(bins: int, like: Tensor) -> Tensor:
    """Return 0, 1 / bins, ... 1, rounded as the confidences are: 0.3 is on the edge in any type."""
    return (torch.arange(bins + 1, dtype=torch.float64) / bins).to(like)


def equal_mass_edges(confidence: Tensor, index: Tensor, bins: int) -> Tensor:
    """Return edges such that bin b holds edges[b] < confidence <= edges[b + 1]; from 0 to 1."""
    highest = confidence.new_zeros(bins).scatter_reduce(0, index, confidence, "amax")
    edges = torch.cat([confidence.new_zeros(1), highest.cummax(0).values])
    edges[-1] = 1
    return edges


def sum_by_bin(index: Tensor, values: Tensor, bins: int) -> Tensor:
    """Sum the values in each bin, [bins] float64."""
    wide = values.double()
    return wide.new_zeros(bins).index_add_(0, index, wide)


def widen(values: Tensor) -> Tensor:
    """Return values in at least float32."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
