"""From what was recognised to the curve of each operation, with its errors."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.curves.classes import fit_classes
from softaug.curves.fit import Fitted, binomial_error, fit_power, retained_share
from softaug.curves.measure import CROP, Measured
from softaug.curves.subject import WHO
from softaug.metrics import bootstrap_interval
from softaug.transforms.curves import Curve

ONE_ERROR = 0.6826895  # of a normal law is within one standard error
NUM_RESAMPLES = 200


class OperationFit(NamedTuple):
    """The curve of an operation and the points that it was fitted to."""

    curve: Curve
    common_k: float  # of all classes together
    loss_error: float  # standard errors if other images were drawn: not other seeds
    k_error: float
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


def fit_all(measured: Measured, num_classes: int, per_class: bool) -> dict[str, OperationFit]:
    """The curve of each operation; networks that know no more than chance are refused."""
    chance, num = 1 / num_classes, len(measured.labels)
    whole = measured.whole.mean()
    if float(whole - chance) < 3 * float(binomial_error(whole, num)):
        rule = f"runs must recognise whole images better than chance, {chance:.3f}"
        got = f"{float(whole):.3f} of {num} images"
        refuse(WHO, rule, got, "train longer, or measure on more images")
    return {name: _fit_one(measured, name, num_classes, per_class) for name in measured.harmed}


def _fit_one(measured: Measured, name: str, num_classes: int, per_class: bool) -> OperationFit:
    right, chance = measured.harmed[name], 1 / num_classes
    rows = torch.cat([measured.whole[:, None], right], dim=1)  # [N, 1 + L]
    loss = 1.0 if name == CROP else None  # of a blank image nothing is left

    def fitted(means: Tensor) -> Fitted:
        weight = binomial_error(means[:, 1:], len(rows)) ** -2
        return fit_power(
            measured.x, retained_share(means[:, 1:], means[:, :1], chance), weight, loss
        )

    common = Fitted(*(value[0] for value in fitted(rows.mean(0, keepdim=True))))
    k: float | tuple[float, ...] = round(float(common.k), 4)
    if per_class:
        k = tuple(round(own, 4) for own in _class_powers(measured, name, num_classes, common))
    kept, kept_error = _points(measured.whole, right, chance)
    return OperationFit(
        Curve("visible" if name == CROP else "strength", round(float(common.loss), 4), k),
        float(common.k),
        _error(rows, lambda means: fitted(means).loss),
        _error(rows, lambda means: fitted(means).k),
        measured.x.tolist(),
        right.mean(0).tolist(),
        (right.std(0) / len(right) ** 0.5).tolist(),
        kept.tolist(),
        kept_error.tolist(),
    )


def _class_powers(measured: Measured, name: str, num_classes: int, common: Fitted) -> list[float]:
    num = torch.bincount(measured.labels, minlength=num_classes)
    accuracy = _class_means(measured.harmed[name], measured.labels, num)
    whole = _class_means(measured.whole[:, None], measured.labels, num)[:, 0]
    powers = fit_classes(measured.x, accuracy, whole, num, 1 / num_classes, common)
    return [float(k) for k in powers]


def _class_means(rows: Tensor, labels: Tensor, num: Tensor) -> Tensor:
    """Means [C, F] over the rows [N, F] of each class; 0 where it has none."""
    sums = rows.new_zeros(len(num), rows.shape[1]).index_add_(0, labels, rows)
    return sums / num.clamp_min(1)[:, None]


def _points(whole: Tensor, right: Tensor, chance: float) -> tuple[Tensor, Tensor]:
    """What is retained at each level, unclipped, and its standard error, [L].

    Whole and harmed images are the same ones, so that their errors partly cancel.
    """
    knows = whole.mean() - chance
    kept = (right.mean(0) - chance) / knows
    each = (right - kept * whole[:, None]) / knows
    return kept, each.std(0) / len(right) ** 0.5


def _error(rows: Tensor, statistic: Callable[[Tensor], Tensor]) -> float:
    """Half of the interval that holds 68 % of the values in resamples of the images."""
    found = bootstrap_interval(rows, statistic, level=ONE_ERROR, num_resamples=NUM_RESAMPLES)
    return (found.high - found.low) / 2


def _rounded(value: Any) -> Any:
    return [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)
