"""When to raise a strength: each rule measures how far training is ahead of its goal."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from softaug.checks import check_share

_MEMORIZING_EPOCH = 20  # epochs, after which more of them teach a network its images, not its task


class EpochStats(NamedTuple):
    """What an epoch showed."""

    progress: float  # share of all epochs that have ended
    chance: float  # accuracy of a guess
    accuracy: float  # on augmented images
    confidence: float  # mean probability of the true class, on augmented images
    target_confidence: float  # mean of what their targets give it
    past_accuracy: tuple[float, ...] = ()  # accuracy in each epoch before, on augmented images


class GroupMeans(NamedTuple):
    """Means over images: of each class or sample [num], or of all overall."""

    accuracy: Tensor
    confidence: Tensor  # probability of the true class
    target_confidence: Tensor  # what targets give it


@runtime_checkable
class Rule(Protocol):
    """A strength rises after an epoch whose lead is above 0, and falls if it is below.

    One with the attribute `finds_k = True` is for a k that is "auto", too.
    """

    def lead(self, stats: EpochStats) -> float:
        """Return how far training is ahead, as a share of the images or a probability."""


@runtime_checkable
class GroupRule(Rule, Protocol):
    """A rule that measures each class, or each sample."""

    def ahead(self, group: GroupMeans, overall: GroupMeans, chance: float) -> Tensor:
        """Return numbers above 0 for those further than all together, below 0 for those behind."""


@dataclass(frozen=True)
class AccuracyHold:
    """Ahead while accuracy on augmented images is above what it was at `since` of all epochs.

    None is half of them, but no later than the 20th: by then a network begins to know its images
    by heart. Until then a strength stays. From then on accuracy is held there: whatever the
    network learns is spent on going farther. Nothing is said about how high an accuracy is, so
    the rule is the same for 10 classes and for 1,000, for few epochs and for many. It finds no k:
    near crops, half of the time, do not measure it.

    >>> stats = EpochStats(0.75, 0.1, 0.7, 0.6, 1.0, past_accuracy=(0.4, 0.6))
    >>> round(AccuracyHold(since=0.5).lead(stats), 3)  # the third of four
    0.1
    """

    since: float | None = None

    def __post_init__(self) -> None:
        if self.since is not None:
            check_share("AccuracyHold", "since", self.since)

    def lead(self, stats: EpochStats) -> float:
        ended = len(stats.past_accuracy) + 1
        held = self.held(epochs=round(ended / stats.progress))
        return stats.accuracy - stats.past_accuracy[held - 1] if ended > held else 0.0

    def held(self, epochs: int) -> int:
        """The epoch whose accuracy is held, counted from 1.

        >>> [AccuracyHold().held(epochs) for epochs in (15, 40, 120)]
        [8, 20, 20]
        """
        share, latest = (0.5, _MEMORIZING_EPOCH) if self.since is None else (self.since, epochs)
        return min(max(math.floor(share * epochs + 0.5), 1), latest)

    def ahead(self, group: GroupMeans, overall: GroupMeans, chance: float) -> Tensor:
        return group.accuracy - overall.accuracy


@dataclass(frozen=True)
class ConfidenceMatch:
    """Ahead while the network gives true classes more than a growing share of what targets ask.

    Both are measured from chance; the share grows from 0 at the start to `goal` at the end. A
    target asks for less where less is visible, so unlike a line of accuracy the goal can be
    reached at any strength. It is the probability of the *true* class: the largest one would
    count a network that is sure and wrong as one that follows.
    """

    goal: float = 0.95
    finds_k: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_share("ConfidenceMatch", "goal", self.goal)

    def lead(self, stats: EpochStats) -> float:
        return (stats.confidence - stats.chance) - self.goal * stats.progress * (
            stats.target_confidence - stats.chance
        )

    def ahead(self, group: GroupMeans, overall: GroupMeans, chance: float) -> Tensor:
        """Return how far confidence exceeds the share of the target's that all groups reach.

        The lead itself would not do: targets ask for less where less is visible, so while all lag,
        the lag is small merely where crops are strong, and these would be made stronger.
        """
        share = (overall.confidence - chance) / (overall.target_confidence - chance).clamp_min(1e-9)
        return (group.confidence - chance) - share * (group.target_confidence - chance)


LEAST_K, MOST_K = 0.5, 8.0
_STEPS = 241  # of the grid: each is 1.2 % above the one before


def fit_k(lost: Tensor, accuracy: Tensor, num: Tensor, chance: float) -> float | None:
    """Fit the k of accuracy = chance + gain (1 - lost^k), by least squares weighted by `num`.

    All three are [L]: levels of what was lost of images, the accuracy there and the number of
    images. The `gain` over chance on whole images is fitted too. None where fewer than two
    levels have images, or where the gain is 0: any k would do.

    >>> lost = torch.tensor([0.05, 0.25, 0.5, 0.75])
    >>> round(fit_k(lost, 0.1 + 0.8 * (1 - lost**2), torch.ones(4), chance=0.1), 2)
    2.0
    """
    if int((num > 0).sum()) < 2:
        return None
    lost, above, num = lost.double(), accuracy.double() - chance, num.double()
    powers = torch.linspace(math.log(LEAST_K), math.log(MOST_K), _STEPS, dtype=torch.float64).exp()
    left = 1 - lost ** powers[:, None]  # [K, L]
    gain = (num * left * above).sum(1) / (num * left**2).sum(1).clamp_min(1e-12)  # [K]
    residual = (num * (above - gain[:, None] * left) ** 2).sum(1)
    best = int(residual.argmin())
    return float(powers[best]) if gain[best] > 0 else None
