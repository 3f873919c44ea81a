"""Does a model's confidence agree with how often it is right?"""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_choice, check_whole
from softaug.metrics.binning import BINNINGS, mass_edges, places, sum_by, width_edges
from softaug.metrics.scores import check_probs


class Reliability(NamedTuple):
    """Samples grouped by confidence; bin b holds edges[b] < confidence <= edges[b + 1].

    The first bin also holds confidence 0. Empty bins have count, confidence and accuracy 0.
    """

    edges: Tensor  # [bins + 1], from 0 to 1
    count: Tensor  # type: ignore[assignment]  # [bins] int64; hides tuple.count
    confidence: Tensor  # [bins], mean of the samples in the bin
    accuracy: Tensor  # [bins], share of them that are right


def reliability(
    probs: Tensor, labels: Tensor, bins: int = 10, binning: str = "width"
) -> Reliability:
    """Count, mean confidence and accuracy of the samples in bins of confidence.

    `binning` is "width" (bins of equal width) or "mass" (of equal numbers of samples; equal
    confidences stay together).

    >>> probs = torch.tensor([[0.75, 0.25], [0.875, 0.125], [0.0, 1.0]])
    >>> found = reliability(probs, torch.tensor([0, 1, 1]), bins=2)
    >>> found.count, found.confidence
    (tensor([0, 3]), tensor([0.0000, 0.8750], dtype=torch.float64))
    """
    return _reliability("reliability", probs, labels, bins, binning)


def calibration_error(
    probs: Tensor, labels: Tensor, bins: int = 10, binning: str = "width", debias: bool = False
) -> Tensor:
    """Expected calibration error: mean |confidence - accuracy| over the bins, by count.

    A fraction in [0, 1]; 0 where the model is right as often as it says. `binning` as in
    `reliability`. With few samples a bin the figure is too high even for a calibrated model.
    `debias=True` gives another figure without that bias: the root of the mean *squared* gap,
    each square less its own sampling variance, accuracy (1 - accuracy) / (count - 1) (Kumar
    et al., "Verified uncertainty calibration", 2019; 0 where the estimate is below 0; bins
    of one sample have no variance and add 0).

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> calibration_error(probs, torch.tensor([0, 1]))
    tensor(0.2500, dtype=torch.float64)
    >>> calibration_error(probs, torch.tensor([1, 1]), debias=True)
    tensor(0.7500, dtype=torch.float64)
    """
    found = _reliability("calibration_error", probs, labels, bins, binning)
    if debias:
        return debiased_square(found).clamp_min(0).sqrt()
    return (_gaps(found) * found.count).sum() / found.count.sum()


def max_calibration_error(
    probs: Tensor, labels: Tensor, bins: int = 15, binning: str = "width"
) -> Tensor:
    """The largest |confidence - accuracy| of any bin that holds a sample.

    One sample alone in a bin can decide it: read it with the counts of `reliability`.

    >>> probs = torch.tensor([[0.75, 0.25], [0.875, 0.125]])
    >>> max_calibration_error(probs, torch.tensor([0, 1]))
    tensor(0.8750, dtype=torch.float64)
    """
    return _gaps(_reliability("max_calibration_error", probs, labels, bins, binning)).max()


def class_calibration_error(probs: Tensor, labels: Tensor, bins: int = 15) -> Tensor:
    """Class-wise calibration error: of each class's probability, averaged over the classes.

    For class c every sample has confidence probs[:, c] and is right where its label is c;
    bins of equal width. With many classes most of these probabilities are near 0, and the
    figure is small.

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> class_calibration_error(probs, torch.tensor([0, 0]))
    tensor(0.2500, dtype=torch.float64)
    """
    who = "class_calibration_error"
    probs, labels = check_probs(who, probs, labels)
    _check_bins(who, bins, "width")
    sure, num_classes = _at_least_float32(probs), probs.shape[1]
    own = sure.gather(1, labels[:, None])[:, 0]
    cell = labels * bins + places(own, bins, "width")
    right = torch.bincount(cell, minlength=num_classes * bins).view(num_classes, bins)
    # The gap of a bin is what its probabilities sum to, less the labels in it.
    return (_sums_by_class(sure, bins) - right).abs().sum() / probs.numel()


def _sums_by_class(sure: Tensor, bins: int) -> Tensor:
    """What each class's probabilities in each bin sum to, [C, bins].

    Only probabilities above the first bin are looked up, fewer than `bins` in each row:
    more than twice as fast for 100 classes.
    """
    num_classes = sure.shape[1]
    above = (sure > width_edges(bins, sure)[1]).flatten().nonzero()[:, 0]
    high = sure.flatten()[above]
    cell = above % num_classes * bins + places(high, bins, "width")
    total = sum_by(cell, high, num_classes * bins).view(num_classes, bins)
    total[:, 0] += sure.sum(0, dtype=torch.float64) - total.sum(1)
    return total


def confidence_gap(probs: Tensor, labels: Tensor) -> Tensor:
    """Mean confidence minus accuracy: above 0 the model is over-, below under-confident.

    No binning can show less: |gap| <= calibration error.

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> confidence_gap(probs, torch.tensor([0, 0]))
    tensor(-0.2500, dtype=torch.float64)
    """
    sure, right = _top(*check_probs("confidence_gap", probs, labels))
    return sure.double().mean() - right.double().mean()


def image_gap(probs: Tensor, labels: Tensor, bins: int = 15) -> Tensor:
    """For each image its confidence minus 1 if it is right, in the column of its bin.

    [N, bins]; `summed_gap` of the mean over images is the calibration error in equal-width
    bins, so that a bootstrap over images can resample it.

    >>> image_gap(torch.tensor([[0.75, 0.25], [0.5, 0.5]]), torch.tensor([0, 1]), bins=2)
    tensor([[ 0.0000, -0.2500],
            [ 0.5000,  0.0000]], dtype=torch.float64)
    """
    probs, labels = check_probs("image_gap", probs, labels)
    _check_bins("image_gap", bins, "width")
    sure, right = _top(probs, labels)
    gap = sure.double() - right.double()
    table = gap.new_zeros(len(gap), bins)
    return table.scatter_(1, places(sure, bins, "width")[:, None], gap[:, None])


def summed_gap(means: Tensor) -> Tensor:
    """Calibration error from the mean rows of `image_gap`, [..., bins] to [...].

    >>> summed_gap(torch.tensor([[0.25, -0.125]]))
    tensor([0.3750])
    """
    return means.abs().sum(-1)


def debiased_square(found: Reliability) -> Tensor:
    """Unbiased estimate of the mean squared gap of the bins; it may be below 0.

    >>> one = torch.tensor([2]), torch.tensor([0.5]), torch.tensor([0.5])
    >>> debiased_square(Reliability(torch.tensor([0.0, 1.0]), *one))
    tensor(-0.2500)
    """
    spread = found.accuracy * (1 - found.accuracy) / (found.count - 1).clamp_min(1)
    square = (found.confidence - found.accuracy) ** 2 - spread
    several = found.count > 1
    return (square * found.count * several).sum() / found.count.sum()


def _reliability(who: str, probs: Tensor, labels: Tensor, bins: int, binning: str) -> Reliability:
    probs, labels = check_probs(who, probs, labels)
    _check_bins(who, bins, binning)
    sure, right = _top(probs, labels)
    place = places(sure, bins, binning)
    count = torch.bincount(place, minlength=bins)
    by_width = binning == "width"
    edges = width_edges(bins, sure) if by_width else mass_edges(sure, place, bins)
    full = count.clamp_min(1)
    confidence, accuracy = (sum_by(place, values, bins) / full for values in (sure, right))
    return Reliability(edges, count, confidence, accuracy)


def _top(probs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Confidence of each sample and whether its guess is right, both [N]."""
    sure, guess = probs.max(1)
    return _at_least_float32(sure), guess == labels


def _gaps(found: Reliability) -> Tensor:
    return (found.confidence - found.accuracy).abs()


def _at_least_float32(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.float()


def _check_bins(who: str, bins: int, binning: str) -> None:
    check_whole(who, "bins", bins, least=1)
    check_choice(who, "binning", binning, BINNINGS)
