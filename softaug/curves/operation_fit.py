"""From what was recognised to the curve of each operation, with its errors."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.curves.classes import ClassRates, class_rates, fit_classes
from softaug.curves.fit import (
    LEAST_K,
    MOST_K,
    Fitted,
    binomial_error,
    fit_power,
    level_weights,
    retained_share,
)
from softaug.curves.isotonic import fit_table_curve
from softaug.curves.measure import CROP, Measured
from softaug.curves.subject import WHO
from softaug.metrics import bootstrap_interval
from softaug.transforms.curves import AnyCurve, Curve

ONE_ERROR = 0.6826895  # of a normal law lies within one standard error
NUM_RESAMPLES = 200


class OperationFit(NamedTuple):
    """The curve of an operation and the points that it was fitted to.

    Standard errors are over images: they say nothing of other seeds. That of a parameter at a
    bound of its range is None: resamples stay there, which is no certainty.
    """

    curve: AnyCurve
    loss: float  # this and k are of the power curve of all classes, also beside a table
    common_k: float
    loss_error: float | None
    k_error: float | None
    misfit: float  # root of the mean square of what the common curve misses the points by
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
    whole, num = measured.recognised(measured.whole).mean(), len(measured.labels)
    if float(whole - measured.chance) < 3 * float(binomial_error(whole, num)):
        rule = f"runs must recognise whole images better than chance, {measured.chance:.3f}"
        got = f"{float(whole):.3f} of {num} images"
        refuse(WHO, rule, got, "train longer, or measure on more images")
    return {name: fit_operation(measured, name, per_class) for name in measured.harmed}


def fit_operation(measured: Measured, name: str, per_class: bool) -> OperationFit:
    """The curve of one operation; a crop's ends at chance, for a blank image shows nothing."""
    whole, right = (measured.recognised(a) for a in (measured.whole, measured.harmed[name]))
    rows = torch.cat([whole, right], dim=1)  # [N, 1 + L]
    fit = partial(_fit, measured, loss=1.0 if name == CROP else None)
    found, weight = fit(rows.mean(0, keepdim=True))
    common = Fitted(found.loss[0], found.k[0])
    powers = _class_powers(measured, name, common, weight[0]) if per_class else None
    kept, kept_error = _points(measured.chance, whole, right)
    loss, k = float(common.loss), float(common.k)
    of = "visible" if name == CROP else "strength"
    return OperationFit(
        Curve(of, round(loss, 4), powers or round(k, 4)),
        loss,
        k,
        None if loss in (0, 1) else _error(rows, lambda means: fit(means)[0].loss),
        None if _k_is_bound(common) else _error(rows, lambda means: fit(means)[0].k),
        _misfit(1 - loss * measured.x**k, kept),
        measured.x.tolist(),
        right.mean(0).tolist(),
        _standard_error(right).tolist(),
        kept.tolist(),
        kept_error.tolist(),
    )


def as_table(fit: OperationFit) -> OperationFit:
    """The same points with a table as their curve, which follows any shape that never rises."""
    curve = fit_table_curve(fit.curve.of, fit.x, fit.retained, fit.retained_error)
    x, kept = (torch.tensor(values, dtype=torch.float64) for values in (fit.x, fit.retained))
    return fit._replace(curve=curve, misfit=_misfit(curve(x), kept))


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
    whole, harmed = (
        class_rates(answers, measured.labels, measured.num_classes)
        for answers in (measured.whole, measured.harmed[name])
    )
    hit = torch.cat([whole.hit, harmed.hit], dim=1)
    false_alarm = torch.cat([whole.false_alarm, harmed.false_alarm], dim=1)
    powers = fit_classes(measured.x, ClassRates(hit, false_alarm, whole.num), common, weight)
    return tuple(round(k, 4) for k in powers.tolist())


def _k_is_bound(common: Fitted) -> bool:
    """Whether k ends at a bound of its range, or says nothing because nothing is lost."""
    at_bound = any(math.isclose(common.k, bound, rel_tol=1e-6) for bound in (LEAST_K, MOST_K))
    return at_bound or float(common.loss) == 0


def _misfit(curve: Tensor, kept: Tensor) -> float:
    return float(((kept - curve) ** 2).mean().sqrt())


def _points(chance: float, whole: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """What is retained at each level, unclipped, and its standard error, [L].

    Whole and harmed images are the same ones, so that their errors partly cancel.
    """
    knows = whole.mean() - chance
    kept = (right.mean(0) - chance) / knows
    return kept, _standard_error((right - kept * whole) / knows)


def _standard_error(rows: Tensor) -> Tensor:
    """That of the means of rows [N, L], [L]."""
    spread: Tensor = rows.std(0)
    return spread / math.sqrt(len(rows))


def _error(rows: Tensor, statistic: Callable[[Tensor], Tensor]) -> float:
    """Half of the interval that holds 68 % of the values in resamples of the images."""
    found = bootstrap_interval(rows, statistic, level=ONE_ERROR, num_resamples=NUM_RESAMPLES)
    return (found.high - found.low) / 2


def _rounded(value: Any) -> Any:
    if value is None:
        return None
    return [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)
