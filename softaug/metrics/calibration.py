"""Calibration: does a model's confidence agree with how often it is right?"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import (
    check_choice,
    check_positive,
    check_whole,
    describe,
    is_float,
    refuse,
)
from softaug.metrics.classification import (
    BINNINGS,
    assign_bins,
    brier,
    check_probs,
    check_scores,
    equal_mass_edges,
    equal_width_edges,
    nll,
    sum_by_bin,
    widen,
)


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
    >>> binned = reliability(probs, torch.tensor([0, 1, 1]), bins=2)
    >>> binned.count, binned.confidence
    (tensor([0, 3]), tensor([0.0000, 0.8750], dtype=torch.float64))
    """
    return _reliability("reliability", probs, labels, bins, binning)


def calibration_error(
    probs: Tensor, labels: Tensor, bins: int = 10, binning: str = "width", debias: bool = False
) -> Tensor:
    """Compute the expected calibration error: mean |confidence - accuracy| of the bins, by count.

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
    binned = _reliability("calibration_error", probs, labels, bins, binning)
    if debias:
        return debiased_square(binned).clamp_min(0).sqrt()
    gaps = (binned.confidence - binned.accuracy).abs()
    return (gaps * binned.count).sum() / binned.count.sum()


def max_calibration_error(
    probs: Tensor, labels: Tensor, bins: int = 15, binning: str = "width"
) -> Tensor:
    """Compute the largest |confidence - accuracy| of any bin that holds a sample.

    One sample alone in a bin can decide it: read it with the counts of `reliability`.

    >>> probs = torch.tensor([[0.75, 0.25], [0.875, 0.125]])
    >>> max_calibration_error(probs, torch.tensor([0, 1]))
    tensor(0.8750, dtype=torch.float64)
    """
    binned = _reliability("max_calibration_error", probs, labels, bins, binning)
    return (binned.confidence - binned.accuracy).abs().max()


def class_calibration_error(probs: Tensor, labels: Tensor, bins: int = 15) -> Tensor:
    """Compute the calibration error of each class's probability, averaged over the classes.

    For class c every sample has confidence probs[:, c] and is right where its label is c;
    bins of equal width. With many classes most of these probabilities are near 0, and the
    figure is small.

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> class_calibration_error(probs, torch.tensor([0, 0]))
    tensor(0.2500, dtype=torch.float64)
    """
    probs, labels = check_probs("class_calibration_error", probs, labels)
    _check_bins("class_calibration_error", bins, "width")
    confidence, num_classes = widen(probs), probs.shape[1]
    own = confidence.gather(1, labels[:, None])[:, 0]
    cell = labels * bins + assign_bins(own, bins, "width")
    correct = torch.bincount(cell, minlength=num_classes * bins).view(num_classes, bins)
    # The gap of a bin is what its probabilities sum to, less the labels in it.
    return (_sums_by_class(confidence, bins) - correct).abs().sum() / probs.numel()


def _sums_by_class(confidence: Tensor, bins: int) -> Tensor:
    """Sum each class's probabilities in each bin, [C, bins].

    Only probabilities above the first bin are looked up, fewer than `bins` in each row:
    more than twice as fast for 100 classes.
    """
    num_classes = confidence.shape[1]
    above = (confidence > equal_width_edges(bins, confidence)[1]).flatten().nonzero()[:, 0]
    high = confidence.flatten()[above]
    cell = above % num_classes * bins + assign_bins(high, bins, "width")
    total = sum_by_bin(cell, high, num_classes * bins).view(num_classes, bins)
    total[:, 0] += confidence.sum(0, dtype=torch.float64) - total.sum(1)
    return total


def confidence_gap(probs: Tensor, labels: Tensor) -> Tensor:
    """Compute mean confidence minus accuracy: above 0 the model is over-, below under-confident.

    No binning can show less: |gap| <= calibration error.

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> confidence_gap(probs, torch.tensor([0, 0]))
    tensor(-0.2500, dtype=torch.float64)
    """
    confidence, correct = _top(*check_probs("confidence_gap", probs, labels))
    return confidence.double().mean() - correct.double().mean()


def image_gap(probs: Tensor, labels: Tensor, bins: int = 15) -> Tensor:
    """Return for each image its confidence minus 1 if it is right, in the column of its bin.

    [N, bins]; `sum_gaps` of the mean over images is the calibration error in equal-width
    bins, so that a bootstrap over images can resample it.

    >>> image_gap(torch.tensor([[0.75, 0.25], [0.5, 0.5]]), torch.tensor([0, 1]), bins=2)
    tensor([[ 0.0000, -0.2500],
            [ 0.5000,  0.0000]], dtype=torch.float64)
    """
    probs, labels = check_probs("image_gap", probs, labels)
    _check_bins("image_gap", bins, "width")
    confidence, correct = _top(probs, labels)
    gap = confidence.double() - correct.double()
    table = gap.new_zeros(len(gap), bins)
    return table.scatter_(1, assign_bins(confidence, bins, "width")[:, None], gap[:, None])


def sum_gaps(means: Tensor) -> Tensor:
    """Compute the calibration error from the mean rows of `image_gap`, [..., bins] to [...].

    >>> sum_gaps(torch.tensor([[0.25, -0.125]]))
    tensor([0.3750])
    """
    return means.abs().sum(-1)


_CELLS = 4096  # of confidence; widths of kernels below 1 / _CELLS are not told apart
_HALVINGS = 40


def smooth_calibration_error(probs: Tensor, labels: Tensor) -> Tensor:
    """Compute the calibration error without bins (Blasiok and Nakkiran, "Smooth ECE", 2023).

    Confidence minus correctness is smoothed over confidence by a normal kernel that is
    reflected at 0 and 1, and the absolute value integrated. Kernels that are wider give less;
    the one whose width is the error it gives is taken. A fraction in [0, 1].

    >>> probs = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
    >>> smooth_calibration_error(probs, torch.tensor([0, 1]))
    tensor(0.2500, dtype=torch.float64)
    """
    confidence, correct = _top(*check_probs("smooth_calibration_error", probs, labels))
    gap = confidence.double() - correct.double()
    cells = sum_by_bin(assign_bins(confidence, _CELLS, "width"), gap, _CELLS)
    return sum_smooth_gaps(cells / len(gap))


def sum_smooth_gaps(means: Tensor) -> Tensor:
    """Compute the smooth calibration error from the mean rows of `image_gap`, [..., bins] to [...].

    The more bins, the more exact.

    >>> sum_smooth_gaps(torch.tensor([[0.25, 0.0, 0.0, 0.0]]))
    tensor([0.2500], dtype=torch.float64)
    """
    bins = means.shape[-1]
    wide = means.double()
    waves = torch.fft.rfft(torch.cat([wide, wide.flip(-1)], -1))  # mirrored: the kernel's images
    rates = torch.arange(bins + 1, device=means.device) * math.pi
    low = wide.new_zeros(means.shape[:-1])
    high = torch.ones_like(low)
    for _ in range(_HALVINGS):
        width = (low + high) / 2
        damped = waves * (-((width[..., None] * rates) ** 2) / 2).exp()
        error = torch.fft.irfft(damped, n=2 * bins)[..., :bins].abs().sum(-1)
        low, high = torch.where(error > width, width, low), torch.where(error > width, high, width)
    return (low + high) / 2


def debiased_square(binned: Reliability) -> Tensor:
    """Estimate the mean squared gap of the bins without bias; it may be below 0."""
    spread = binned.accuracy * (1 - binned.accuracy) / (binned.count - 1).clamp_min(1)
    square = (binned.confidence - binned.accuracy) ** 2 - spread
    several = binned.count > 1
    return (square * binned.count * several).sum() / binned.count.sum()


BOUNDS = (0.01, 100.0)
_STEPS = 100


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """Fit the temperature T, from 0.01 to 100, with the least NLL of softmax(logits / T).

    Above 1 the model was over-confident. Fit it on held-out data, never on the test set.
    Where no finite T is best the bound is returned exactly: 0.01 if every label has the
    highest logit (sharper is always better), 100 if the logits say less than chance. Logits
    that are equal within each row fit any T: 1.

    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0]] * 4)  # sure by 88 %, right 3 times of 4
    >>> round(fit_temperature(logits, torch.tensor([0, 0, 0, 1])), 4)  # 2 / log 3
    1.8205
    """
    logits, labels = check_scores("fit_temperature", "logits", logits, labels)
    wide = logits.detach().double()
    wide = wide - wide.amax(1, keepdim=True)  # the same probabilities, exact for large logits
    if bool((wide == 0).all()):
        return 1.0
    return 1 / _best_sharpness(wide, wide.gather(1, labels[:, None]).mean())


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Divide `logits` by `temperature`: guesses stay, confidence falls as the temperature rises.

    >>> import torch
    >>> apply_temperature(torch.tensor([[3.0, 1.0]]), 2.0)
    tensor([[1.5000, 0.5000]])
    """
    check_positive("apply_temperature", "temperature", temperature)
    if not isinstance(logits, Tensor) or not is_float(logits):
        rule = "logits must be a floating point tensor"
        refuse("apply_temperature", rule, describe(logits))
    return logits / temperature


def _best_sharpness(logits: Tensor, own: Tensor) -> float:
    """Find the root of the NLL's slope in 1 / T: it only rises, so bracketed Newton is safe."""
    low, high = 1 / BOUNDS[1], 1 / BOUNDS[0]
    if _slope(logits, own, high)[0] <= 0:
        return high
    if _slope(logits, own, low)[0] >= 0:
        return low
    sharpness = 1.0
    for _ in range(_STEPS):
        slope, curvature = _slope(logits, own, sharpness)
        low, high = (sharpness, high) if slope < 0 else (low, sharpness)
        step = sharpness - slope / curvature if curvature > 0 else math.nan
        # NaN and steps out of the bracket halve it instead, in the logarithm.
        after = step if low <= step <= high else math.sqrt(low * high)
        if abs(after - sharpness) <= 1e-12 * sharpness:
            return after
        sharpness = after
    return sharpness


def _slope(logits: Tensor, own: Tensor, sharpness: float) -> tuple[float, float]:
    """Return the mean NLL's two derivatives: mean and variance of the logits under p."""
    probs = (logits * sharpness).softmax(1)
    weighted = probs * logits
    mean, square = weighted.sum(1), (weighted * logits).sum(1)
    return float(mean.mean() - own), float((square - mean * mean).mean())


def calibration_summary(
    logits: Tensor, labels: Tensor, temperature: float | None = None
) -> dict[str, float]:
    """Measure the calibration of softmax(logits / temperature) as plain numbers, ECEs as fractions.

    `temperature`: None is 1; fit one on held-out data with `fit_temperature`. Keys: "nll",
    "brier", "ece_10" and "ece_15" (equal width), "ece_15_mass", "smooth_ece",
    "l2_15_mass_debiased" (root of the debiased square), "ece_15_classwise", "mce_15", "gap"
    (mean confidence minus accuracy), "temperature".

    >>> import torch
    >>> summary = calibration_summary(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    >>> summary["brier"], summary["ece_10"], summary["gap"]
    (0.5, 0.5, -0.5)
    """
    scores, labels = check_scores("calibration_summary", "logits", logits, labels)
    used = 1.0 if temperature is None else float(temperature)
    scaled = apply_temperature(scores.detach().double(), used)
    probs = scaled.softmax(1)
    summary = {
        "nll": nll(scaled, labels),
        "brier": brier(probs, labels),
        "ece_10": calibration_error(probs, labels, bins=10),
        "ece_15": calibration_error(probs, labels, bins=15),
        "ece_15_mass": calibration_error(probs, labels, bins=15, binning="mass"),
        "smooth_ece": smooth_calibration_error(probs, labels),
        "l2_15_mass_debiased": calibration_error(
            probs, labels, bins=15, binning="mass", debias=True
        ),
        "ece_15_classwise": class_calibration_error(probs, labels, bins=15),
        "mce_15": max_calibration_error(probs, labels, bins=15),
        "gap": confidence_gap(probs, labels),
    }
    return {name: float(value) for name, value in summary.items()} | {"temperature": used}


def _reliability(who: str, probs: Tensor, labels: Tensor, bins: int, binning: str) -> Reliability:
    probs, labels = check_probs(who, probs, labels)
    _check_bins(who, bins, binning)
    top, correct = _top(probs, labels)
    index = assign_bins(top, bins, binning)
    count = torch.bincount(index, minlength=bins)
    by_width = binning == "width"
    edges = equal_width_edges(bins, top) if by_width else equal_mass_edges(top, index, bins)
    full = count.clamp_min(1)
    confidence, accuracy = (sum_by_bin(index, values, bins) / full for values in (top, correct))
    return Reliability(edges, count, confidence, accuracy)


def _top(probs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the confidence of each sample and whether its guess is correct, both [N]."""
    confidence, guess = probs.max(1)
    return widen(confidence), guess == labels


def _check_bins(who: str, bins: int, binning: str) -> None:
    check_whole(who, "bins", bins, least=1)
    check_choice(who, "binning", binning, BINNINGS)
