"""One k for each class, held toward the common one as far as its images leave it open."""

from torch import Tensor

from softaug.curves.fit import Fitted, binomial_error, fit_power, retained_share


def fit_classes(
    x: Tensor,
    accuracy: Tensor,
    whole: Tensor,
    num: Tensor,
    chance: float,
    common: Fitted,
    weight: Tensor,
) -> Tensor:
    """Own k of each class [C], from its accuracies [C, L] at `x` [L], `whole` [C] unharmed.

    The loss and the `weight` of each level [L] are those of the common fit. Own
    values of log k are taken as normal around log of the common k, with a variance between
    classes that is what their spread exceeds their errors by (the method of moments); each is
    then moved toward the common one by the share that its error has of both variances
    (empirical Bayes). A class without images, or one that is not recognised even whole, has
    the common k; one with very many keeps its own.
    """
    known = (num > 0) & (whole > chance)
    start = common.k.log()
    if not bool(known.any()) or float(common.loss) == 0:
        return common.k.expand(len(num)).clone()
    knows = (whole[known] - chance)[:, None]
    sd = binomial_error(accuracy[known], num[known, None]) / knows
    kept = retained_share(accuracy[known], whole[known, None], chance)
    own, error = _own(x, kept, sd, weight, float(common.loss))
    away = own - start
    between = _between(away, error)
    shrunk = start.repeat(len(num))
    shrunk[known] += away * between / (between + error**2)
    return shrunk.exp()


def _own(x: Tensor, kept: Tensor, sd: Tensor, weight: Tensor, loss: float) -> tuple[Tensor, Tensor]:
    """Each class's own log k and its standard error, [C].

    All levels are measured on the same images, so their errors are added up as if they were
    wholly correlated: that is the most they can be.
    """
    k = fit_power(x, kept, weight, loss).k
    slope = loss * k[:, None] * x ** k[:, None] * x.log()  # of the curve, by log k
    steep = (weight * slope**2).sum(1).clamp_min(1e-300)
    return k.log(), (weight * slope.abs() * sd).sum(1) / steep


def _between(away: Tensor, error: Tensor) -> Tensor:
    """Variance between classes: what their distances from the common value exceed errors by."""
    weight = error**-2
    return (((weight * away**2).sum() - len(away)) / weight.sum()).clamp_min(0)
