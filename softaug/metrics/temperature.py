"""One number that makes a model's confidence fit held-out data (temperature scaling)."""

import math

from torch import Tensor

from softaug.checks import check_positive, describe, refuse
from softaug.metrics.scores import check_scores

BOUNDS = (0.01, 100.0)
_STEPS = 100


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """The temperature T, from 0.01 to 100, with the least NLL of softmax(logits / T).

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
    """`logits` / `temperature`: guesses stay, confidence falls as the temperature rises.

    >>> import torch
    >>> apply_temperature(torch.tensor([[3.0, 1.0]]), 2.0)
    tensor([[1.5000, 0.5000]])
    """
    check_positive("apply_temperature", "temperature", temperature)
    if not isinstance(logits, Tensor) or not logits.dtype.is_floating_point:
        rule = "logits must be a floating point tensor"
        refuse("apply_temperature", rule, describe(logits))
    return logits / temperature


def _best_sharpness(logits: Tensor, own: Tensor) -> float:
    """Root of the NLL's slope in 1 / T: it only rises, so Newton inside a bracket is safe."""
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
    """First and second derivative of the mean NLL: mean and variance of the logits under p."""
    probs = (logits * sharpness).softmax(1)
    weighted = probs * logits
    mean, square = weighted.sum(1), (weighted * logits).sum(1)
    return float(mean.mean() - own), float((square - mean * mean).mean())
