"""One k for each class, held toward the common one as far as its images leave it open."""

from torch import Tensor

from softaug.curves.fit import Fitted, binomial_error, fit_power, retained_share


def fit_classes(
    x: Tensor, accuracy: Tensor, whole: Tensor, num: Tensor, chance: float, common: Fitted
) -> Tensor:
    """Own k of each class [C], from its accuracies [C, L] at `x` [L], `whole` [C] unharmed.

    The loss is the common one. Own values of log k are taken as normal around log of the
    common k, with a variance between classes that is what their spread exceeds their errors
    by (the method of moments); each is then moved toward the common one by the share that its
    error has of both variances (empirical Bayes). A class without images, or one that is not
    recognised even whole, has the common k; one with very many keeps its own.
    """
    known = (num > 0) & (whole > chance)
    start = common.k.log()
    if not bool(known.any()) or float(common.loss) == 0:
        return common.k.expand(len(num)).clone()
    own, error = _own(x, accuracy[known], whole[known], num[known], chance, float(common.loss))
    away = own - start
    between = _between(away, error)
    shrunk = start.repeat(len(num))
    shrunk[known] += away * between / (between + error**2)
    return shrunk.exp()


def _own(
    x: Tensor, accuracy: Tensor, whole: Tensor, num: Tensor, chance: float, loss: float
) -> tuple[Tensor, Tensor]:
    """Each class's own log k and its standard error, [C].

    All levels are measured on the same images, so their errors are added up as if they were
    wholly correlated: that is the most they can be.
    """
    sd = binomial_error(accuracy, num[:, None]) / (whole - chance)[:, None]
    kept = retained_share(accuracy, whole[:, None], chance)
    k = fit_power(x, kept, sd**-2, loss).k
    slope = loss * k[:, None] * x ** k[:, None] * x.log()  # of the curve, by log k
    precision = (slope**2 / sd**2).sum(1)
    return k.log(), (slope.abs() / sd).sum(1) / precision.clamp_min(1e-300)


def _between(away: Tensor, error: Tensor) -> Tensor:
    """Variance between classes: what their distances from the common value exceed errors by."""
    weight = error**-2
    return (((weight * away**2).sum() - len(away)) / weight.sum()).clamp_min(0)
