"""Fitting retained(x) = 1 - loss * x**k to measured shares."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.isotonic import isotonic_regression
from torch import Tensor

from softaug.checks import refuse
from softaug.lab.curves.measure import CROP, WHO, Measured
from softaug.lab.evaluation.stats import bootstrap_interval
from softaug.transforms.curves import AnyCurve, Curve, TableCurve

LEAST_K, MOST_K = 0.25, 16.0
_STEPS = 65  # points of the grid over k in each round
_ROUNDS = 5  # each looks 32 times closer: 64 / 2**25 of the range at the end


class Fitted(NamedTuple):
    """A fitted curve, or as many as there were rows of shares."""

    loss: Tensor  # [...]
    k: Tensor  # [...]


def retained_share(accuracy: Tensor, whole: Tensor, chance: float) -> Tensor:
    """Return the share of a network's accuracy on whole images that is left, in 0..1.

    1 where it is as accurate as on whole images, 0 where it is down to chance.

    >>> retained_share(torch.tensor([0.8, 0.45, 0.05]), torch.tensor(0.8), chance=0.1)
    tensor([1.0000, 0.5000, 0.0000])
    """
    return ((accuracy - chance) / (whole - chance)).clamp(0, 1)


def binomial_error(accuracy: Tensor, num: Tensor | int) -> Tensor:
    """Return the standard error of an accuracy over `num` images; it is never 0.

    It is that of one more correct and one more wrong answer.
    """
    share = (accuracy * num + 1) / (num + 2)
    return (share * (1 - share) / (num + 2)).sqrt()


def fit_power(x: Tensor, retained: Tensor, weight: Tensor, loss: float | None = None) -> Fitted:
    """Fit a curve to the shares `retained` [..., L] at `x` [L], by weighted least squares.

    `loss` is in 0..1, or as given; k is in 0.25..16, and 1 where nothing is lost, which any
    k would fit. For a k the best loss has a closed form, so only k is searched for: on a grid over
    its logarithm, which then closes in, the same way every time.

    >>> x = torch.tensor([0.25, 0.5, 0.75, 1.0])
    >>> fitted = fit_power(x, 1 - 0.5 * x**2, weight=torch.ones(4))
    >>> round(float(fitted.loss), 4), round(float(fitted.k), 4)
    (0.5, 2.0)
    """
    x, retained, weight = x.double(), retained.double(), weight.double()
    low = retained.new_full(retained.shape[:-1], math.log(LEAST_K))
    high = torch.full_like(low, math.log(MOST_K))
    steps = torch.linspace(0, 1, _STEPS, dtype=torch.float64)
    for _ in range(_ROUNDS):
        powers = low[..., None] + (high - low)[..., None] * steps  # [..., K]
        miss, _ = _misses(x, retained, weight, powers.exp(), loss)
        best = miss.argmin(-1, keepdim=True)
        low = powers.gather(-1, (best - 1).clamp_min(0))[..., 0]
        high = powers.gather(-1, (best + 1).clamp_max(_STEPS - 1))[..., 0]
    k = powers.exp().gather(-1, best)
    _, losses = _misses(x, retained, weight, k, loss)
    lost = losses[..., 0]
    return Fitted(lost, torch.where(lost > 0, k[..., 0], 1.0))


def level_weights(x: Tensor, retained: Tensor, error: Tensor, loss: float | None = None) -> Tensor:
    """Return weights [..., L] of levels whose shares have the standard errors `error` [..., L].

    1 / (error^2 + misfit^2). Errors are least near chance: with many images those levels alone
    would decide, though no curve of the family goes through all points. So what an evenly
    weighted fit misses them by, beyond their errors, counts as an error of each.
    """
    even = fit_power(x, retained, torch.ones_like(retained), loss)
    residual = retained - (1 - even.loss[..., None] * x ** even.k[..., None])
    freedom = max(1, len(x) - (2 if loss is None else 1))
    excess = (residual**2).sum(-1) / freedom - (error**2).mean(-1)
    return 1 / (error**2 + excess.clamp_min(0)[..., None])


def _misses(
    x: Tensor, retained: Tensor, weight: Tensor, k: Tensor, loss: float | None
) -> tuple[Tensor, Tensor]:
    """Return weighted squares [..., K] for each of the k [..., K], and the best loss for it."""
    curve = x ** k[..., None]  # [..., K, L]
    removed, weight = (1 - retained)[..., None, :], weight[..., None, :]
    if loss is None:
        best = (weight * curve * removed).sum(-1) / (weight * curve**2).sum(-1)
        best = best.clamp(0, 1)
    else:
        best = torch.full_like(k, loss)
    return (weight * (removed - best[..., None] * curve) ** 2).sum(-1), best


class ClassRates(NamedTuple):
    """How often each class is predicted, for whole images (first column) and at each level."""

    hit: Tensor  # [C, 1 + L], share of its own images
    false_alarm: Tensor  # [C, 1 + L], share of the other classes' images
    num: Tensor  # [C], its own images

    @property
    def net_hits(self) -> Tensor:
        """Hits minus false alarms: 0 for a network that ignores the image.

        One that recognizes the share q of all images and predicts class c for the share g of the
        rest has q + (1 - q) g hits and (1 - q) g false alarms: q remains. With equally many
        images of each class the mean over classes is (accuracy - 1/C) / (1 - 1/C).
        """
        return self.hit - self.false_alarm

    @property
    def error(self) -> Tensor:
        """Standard error of `net_hits`."""
        others = self.num.sum() - self.num
        hit = binomial_error(self.hit, self.num[:, None])
        return hit.hypot(binomial_error(self.false_alarm, others[:, None]))


def class_rates(predicted: Tensor, labels: Tensor, num_classes: int) -> ClassRates:
    """Return rates of the classes predicted, [N, F, A], for images of the classes `labels` [N].

    >>> two = class_rates(torch.tensor([0, 0, 0, 1]).view(4, 1, 1), torch.tensor([0, 0, 1, 1]), 2)
    >>> two.hit.flatten().tolist(), two.false_alarm.flatten().tolist()
    ([1.0, 0.5], [0.5, 0.0])
    """
    num = torch.bincount(labels, minlength=num_classes)
    shape = (num_classes, predicted.shape[1])
    predictions, correct = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    for once in predicted.long().unbind(2):  # [N, F], of one run in one draw
        predictions.scatter_add_(0, once, torch.ones_like(once).double())
        correct.index_add_(0, labels, (once == labels[:, None]).double())
    own, others = (count.clamp_min(1)[:, None] for count in (num, len(labels) - num))
    repeats = predicted.shape[2]
    return ClassRates(correct / repeats / own, (predictions - correct) / repeats / others, num)


def fit_classes(x: Tensor, rates: ClassRates, common: Fitted, weight: Tensor) -> Tensor:
    """Fit a k to each class [C], from its rates on whole images and at `x` [L].

    What is retained of a class is `ClassRates.net_hits` there as a share of that on whole images.
    The loss and the `weight` of each level [L] are those of the common fit. Own
    values of log k are taken as normal around log of the common k, with a variance between
    classes that is what their spread exceeds their errors by (the method of moments); each is
    then moved toward the common one by the share that its error has of both variances
    (empirical Bayes). A class without images, or one that is not recognized even whole, has
    the common k; one with very many has its own.
    """
    whole, corrupted = rates.net_hits[:, :1], rates.net_hits[:, 1:]
    recognized = (rates.num > 0) & (whole[:, 0] > 0)
    start = common.k.log()
    if not bool(recognized.any()) or float(common.loss) == 0:
        return common.k.expand(len(rates.num)).clone()
    retained = (corrupted[recognized] / whole[recognized]).clamp(0, 1)
    sd = rates.error[recognized, 1:] / whole[recognized]
    k = fit_power(x, retained, weight, float(common.loss)).k
    slope = float(common.loss) * k[:, None] * x ** k[:, None] * x.log()  # of the curve, by log k
    steep = (weight * slope**2).sum(1).clamp_min(1e-300)
    # All levels are of the same images: their errors add up as if they were wholly correlated.
    error = (weight * slope.abs() * sd).sum(1) / steep
    deviation, precision = k.log() - start, error**-2
    excess = (precision * deviation**2).sum() - len(deviation)
    between = (excess / precision.sum()).clamp_min(0)  # variance between classes
    shrunk = start.repeat(len(rates.num))
    shrunk[recognized] += deviation * between / (between + error**2)
    return shrunk.exp()


_LEAST_ERROR = 1e-6  # where no image changed its answer; the weight stays finite
ONE_ERROR = 0.6826895  # of a normal law lies within one standard error
NUM_RESAMPLES = 200


class OperationFit(NamedTuple):
    """The curve of an operation and the points that it was fitted to.

    Standard errors are over images, not over seeds. That of a parameter at a
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
        """Return everything but the curve, rounded, for the result file."""
        values = {name: value for name, value in self._asdict().items() if name != "curve"}
        return {k: None if v is None else np.round(v, 4).tolist() for k, v in values.items()}


def fit_all(measured: Measured, per_class: bool) -> dict[str, OperationFit]:
    """Fit the curve of each operation; refuse networks no better than chance."""
    whole, num = measured.accuracy(measured.whole).mean(), len(measured.labels)
    if float(whole - measured.chance) < 3 * float(binomial_error(whole, num)):
        rule = f"runs must recognize whole images better than chance, {measured.chance:.3f}"
        got = f"{float(whole):.3f} of {num} images"
        refuse(WHO, rule, got, "train longer, or measure on more images")
    return {name: fit_operation(measured, name, per_class) for name in measured.corrupted}


def fit_operation(measured: Measured, name: str, per_class: bool) -> OperationFit:
    """Fit the curve of one operation; a crop's ends at chance, as a blank image shows nothing."""
    whole, correct = (measured.accuracy(a) for a in (measured.whole, measured.corrupted[name]))
    rows = torch.cat([whole, correct], dim=1)  # [N, 1 + L]
    fit = partial(_fit, measured, loss=1.0 if name == CROP else None)
    fitted, weight = fit(rows.mean(0, keepdim=True))
    common = Fitted(fitted.loss[0], fitted.k[0])
    powers = _fit_each_class(measured, name, common, weight[0]) if per_class else None
    retained, retained_error = _points(measured.chance, whole, correct)
    loss, k = float(common.loss), float(common.k)
    # Where nothing is lost, k has no effect.
    at_bound = not loss or any(math.isclose(k, end, rel_tol=1e-6) for end in (LEAST_K, MOST_K))
    of = "visible" if name == CROP else "strength"
    return OperationFit(
        Curve(of, round(loss, 4), powers or round(k, 4)),
        loss,
        k,
        None if loss in (0, 1) else _error(rows, lambda means: fit(means)[0].loss),
        None if at_bound else _error(rows, lambda means: fit(means)[0].k),
        _misfit(1 - loss * measured.x**k, retained),
        measured.x.tolist(),
        correct.mean(0).tolist(),
        _standard_error(correct).tolist(),
        retained.tolist(),
        retained_error.tolist(),
    )


def as_table(fit: OperationFit) -> OperationFit:
    """Return the same points with a table as their curve: any shape from (0, 1) that never rises.

    It is isotonic regression; each point weighs 1 / error^2.
    """
    weights = [max(error, _LEAST_ERROR) ** -2 for error in fit.retained_error]
    fitted = isotonic_regression(fit.retained, sample_weight=weights, increasing=False)
    shares = [round(share, 4) for share in fitted.clip(0, 1).tolist()]
    lost = (0.0, *(round(position, 6) for position in fit.x))
    curve = TableCurve(fit.curve.of, lost, (1.0, *shares))
    x, retained = (torch.tensor(values, dtype=torch.float64) for values in (fit.x, fit.retained))
    return fit._replace(curve=curve, misfit=_misfit(curve(x), retained))


def _fit(measured: Measured, means: Tensor, loss: float | None) -> tuple[Fitted, Tensor]:
    """Fit curves to means [R, 1 + L], of whole and corrupted images; return levels' weights too."""
    whole, corrupted = means[:, :1], means[:, 1:]
    retained = retained_share(corrupted, whole, measured.chance)
    error = binomial_error(corrupted, len(measured.labels)) / (whole - measured.chance)
    weight = level_weights(measured.x, retained, error, loss)
    return fit_power(measured.x, retained, weight, loss), weight


def _fit_each_class(
    measured: Measured, name: str, common: Fitted, weight: Tensor
) -> tuple[float, ...]:
    levels = measured.corrupted[name]
    repeats = levels.shape[2] // measured.whole.shape[2]
    predicted = torch.cat([measured.whole.repeat(1, 1, repeats), levels], dim=1)
    rates = class_rates(predicted, measured.labels, measured.num_classes)
    return tuple(round(k, 4) for k in fit_classes(measured.x, rates, common, weight).tolist())


def _misfit(curve: Tensor, retained: Tensor) -> float:
    return float(((retained - curve) ** 2).mean().sqrt())


def _points(chance: float, whole: Tensor, correct: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is retained at each level, unclipped, and its standard error, [L].

    Whole and corrupted images are the same ones, so that their errors partly cancel.
    """
    gain = whole.mean() - chance
    retained = (correct.mean(0) - chance) / gain
    return retained, _standard_error((correct - retained * whole) / gain)


def _standard_error(rows: Tensor) -> Tensor:
    spread: Tensor = rows.std(0)
    return spread / math.sqrt(len(rows))  # of their means, [L]


def _error(rows: Tensor, statistic: Callable[[Tensor], Tensor]) -> float:
    """Return half of the interval that holds 68 % of the values in resamples of the images."""
    interval = bootstrap_interval(rows, statistic, level=ONE_ERROR, num_resamples=NUM_RESAMPLES)
    return (interval.high - interval.low) / 2
