"""From what was recognised to the curve of each operation, with its errors."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.curves.classes import fit_classes
from softaug.curves.fit import Fitted, binomial_error, fit_power, level_weights, retained_share
from softaug.curves.measure import CROP, Measured
from softaug.curves.subject import WHO
from softaug.metrics import bootstrap_interval
from softaug.transforms.curves import Curve

ONE_ERROR = 0.6826895  # of a normal law lies within one standard error
NUM_RESAMPLES = 200


class OperationFit(NamedTuple):
    """The curve of an operation and the points that it was fitted to.

    Standard errors are over images: they say nothing of other seeds.
    """

    curve: Curve
    common_k: float  # of all classes together
    loss_error: float
    k_error: float
    misfit: float  # root of the mean square of what the curve misses the points by
    x: list[float]
    accuracy: list[float]
    accuracy_error: list[float]
    retained: list[float]
    retained_error: list[float]

    def about(self) -> dict[str, Any]:
        """Everything but the curve, for the result file."""
        found = self._asdict()
        del found["curve"]
        return {name: _rounded(value) for name, value in found.items()}


def fit_all(measured: Measured, per_class: bool) -> dict[str, OperationFit]:
    """The curve of each operation; networks that know no more than chance are refused."""
    whole, num = measured.whole.mean(), len(measured.labels)
    if float(whole - measured.chance) < 3 * float(binomial_error(whole, num)):
        rule = f"runs must recognise whole images better than chance, {measured.chance:.3f}"
        got = f"{float(whole):.3f} of {num} images"
        refuse(WHO, rule, got, "train longer, or measure on more images")
    return {name: fit_operation(measured, name, per_class) for name in measured.harmed}


def fit_operation(measured: Measured, name: str, per_class: bool) -> OperationFit:
    """The curve of one operation; a crop's ends at chance, for a blank image shows nothing."""
    right = measured.harmed[name]
    rows = torch.cat([measured.whole[:, None], right], dim=1)  # [N, 1 + L]
    fit = partial(_fit, measured, loss=1.0 if name == CROP else None)
    found, weight = fit(rows.mean(0, keepdim=True))
    common = Fitted(found.loss[0], found.k[0])
    powers = _class_powers(measured, name, common, weight[0]) if per_class else None
    kept, kept_error = _points(measured, right)
    missed = kept - (1 - common.loss * measured.x**common.k)
    of = "visible" if name == CROP else "strength"
    return OperationFit(
        Curve(of, round(float(common.loss), 4), powers or round(float(common.k), 4)),
        float(common.k),
        _error(rows, lambda means: fit(means)[0].loss),
        _error(rows, lambda means: fit(means)[0].k),
        float((missed**2).mean().sqrt()),
        measured.x.tolist(),
        right.mean(0).tolist(),
        _standard_error(right).tolist(),
        kept.tolist(),
        kept_error.tolist(),
    )


def _fit(measured: Measured, means: Tensor, loss: float | None) -> tuple[Fitted, Tensor]:
    """Curves for means [R, 1 + L], of whole and of harmed images, and the levels' weights."""
    whole, harmed = means[:, :1], means[:, 1:]
    kept = retained_share(harmed, whole, measured.chance)
    error = binomial_error(harmed, len(measured.labels)) / (whole - measured.chance)
    weight = level_weights(measured.x, kept, error, loss)
    return fit_power(measured.x, kept, weight, loss), weight


def _class_powers(
    measured: Measured, name: str, common: Fitted, weight: Tensor
) -> tuple[float, ...]:
    labels = measured.labels
    num = torch.bincount(labels, minlength=measured.num_classes)
    accuracy = _class_means(measured.harmed[name], labels, num)
    whole = _class_means(measured.whole[:, None], labels, num)[:, 0]
    powers = fit_classes(measured.x, accuracy, whole, num, measured.chance, common, weight)
    return tuple(round(k, 4) for k in powers.tolist())


def _class_means(rows: Tensor, labels: Tensor, num: Tensor) -> Tensor:
    """Means [C, F] over the rows [N, F] of each class; 0 where it has none."""
    sums = rows.new_zeros(len(num), rows.shape[1]).index_add_(0, labels, rows)
    return sums / num.clamp_min(1)[:, None]


def _points(measured: Measured, right: Tensor) -> tuple[Tensor, Tensor]:
    """What is retained at each level, unclipped, and its standard error, [L].

    Whole and harmed images are the same ones, so that their errors partly cancel.
    """
    knows = measured.whole.mean() - measured.chance
    kept = (right.mean(0) - measured.chance) / knows
    return kept, _standard_error((right - kept * measured.whole[:, None]) / knows)


def _standard_error(rows: Tensor) -> Tensor:
    """That of the means of rows [N, L], [L]."""
    spread: Tensor = rows.std(0)
    return spread / math.sqrt(len(rows))


def _error(rows: Tensor, statistic: Callable[[Tensor], Tensor]) -> float:
    """Half of the interval that holds 68 % of the values in resamples of the images."""
    found = bootstrap_interval(rows, statistic, level=ONE_ERROR, num_resamples=NUM_RESAMPLES)
    return (found.high - found.low) / 2


def _rounded(value: Any) -> Any:
    return [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)
