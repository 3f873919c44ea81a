"""One k for each class, held toward the common one as far as its images leave it open."""

from typing import NamedTuple

import torch
from torch import Tensor

from softaug.curves.fit import Fitted, binomial_error, fit_power


class ClassRates(NamedTuple):
    """How often each class is answered, for whole images (first column) and at each level."""

    hit: Tensor  # [C, 1 + L], share of its own images
    false_alarm: Tensor  # [C, 1 + L], share of the other classes' images
    num: Tensor  # [C], its own images

    @property
    def known(self) -> Tensor:
        """Hits minus false alarms: 0 for one who does not look, whatever class he favours.

        One who recognises the share q of all images and answers the rest by habit, class c in
        the share g, has q + (1 - q) g hits and (1 - q) g false alarms: q remains. With equally
        many images of each class the mean over classes is (accuracy - 1/C) / (1 - 1/C).
        """
        return self.hit - self.false_alarm

    @property
    def error(self) -> Tensor:
        """Standard error of `known`."""
        others = self.num.sum() - self.num
        hit = binomial_error(self.hit, self.num[:, None])
        return hit.hypot(binomial_error(self.false_alarm, others[:, None]))


def class_rates(answers: Tensor, labels: Tensor, num_classes: int) -> ClassRates:
    """Rates from the classes answered, [N, F, A], to images of the classes `labels` [N].

    >>> two = class_rates(torch.tensor([0, 0, 0, 1]).view(4, 1, 1), torch.tensor([0, 0, 1, 1]), 2)
    >>> two.hit.flatten().tolist(), two.false_alarm.flatten().tolist()
    ([1.0, 0.5], [0.5, 0.0])
    """
    num = torch.bincount(labels, minlength=num_classes)
    shape = (num_classes, answers.shape[1])
    given, right = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    for answer in answers.long().unbind(2):  # [N, F], of one run in one draw
        given.scatter_add_(0, answer, torch.ones_like(answer).double())
        right.index_add_(0, labels, (answer == labels[:, None]).double())
    own, others = (count.clamp_min(1)[:, None] for count in (num, len(labels) - num))
    repeats = answers.shape[2]
    return ClassRates(right / repeats / own, (given - right) / repeats / others, num)


def fit_classes(x: Tensor, rates: ClassRates, common: Fitted, weight: Tensor) -> Tensor:
    """Own k of each class [C], from its rates on whole images and at `x` [L].

    What is retained of a class is `ClassRates.known` there as a share of that on whole images.
    The loss and the `weight` of each level [L] are those of the common fit. Own
    values of log k are taken as normal around log of the common k, with a variance between
    classes that is what their spread exceeds their errors by (the method of moments); each is
    then moved toward the common one by the share that its error has of both variances
    (empirical Bayes). A class without images, or one that is not recognised even whole, has
    the common k; one with very many keeps its own.
    """
    whole, harmed = rates.known[:, :1], rates.known[:, 1:]
    sure = (rates.num > 0) & (whole[:, 0] > 0)
    start = common.k.log()
    if not bool(sure.any()) or float(common.loss) == 0:
        return common.k.expand(len(rates.num)).clone()
    kept = (harmed[sure] / whole[sure]).clamp(0, 1)
    sd = rates.error[sure, 1:] / whole[sure]
    own, error = _own(x, kept, sd, weight, float(common.loss))
    away = own - start
    between = _between(away, error)
    shrunk = start.repeat(len(rates.num))
    shrunk[sure] += away * between / (between + error**2)
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
