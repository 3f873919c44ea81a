"""What runs cost, and how much time is left."""

import heapq
import re
from collections.abc import Mapping, Sequence
from statistics import median

from softaug.lab.recipes.config import AnyRecipe, PretrainRecipe
from softaug.lab.recipes.scale import PHOTOS, Scale

# Images a second of resnet8-s2 in one thread of an AMD EPYC, by CPU time, a run of one to three
# epochs each, with the measuring between epochs. An evaluation is of 10,000 images with 1 draw.
IMAGES, WITH_POLICY, PAIRS = 900, 620, 450
RATES = {PHOTOS: 190, "digits": 1200, "fashion-mini": 2000}  # from files, or smaller images
PROBE_MINUTES, EVALUATION_MINUTES = 3, 0.7
SMOKE_SECONDS = 2
SLOWER = {"resnet20": 3.2, "fastnet": 2.4}  # times the time of resnet8-s2, on the same core
CLASSES = {"cifar100": 100}  # others have 10
PER_CLASS = {"cifar10": 5000, "cifar100": 500, "digits": 60, "fashion-mini": 200}  # used whole
EVALUATIONS = {"digits": 0.15, "fashion-mini": 0.08}  # minutes, of fewer images
_V100 = re.compile(r"(?:(\d+) runs, each )?(?:about )?([\d.]+) V100-(hour|day)s")


def estimate_hours(recipe: AnyRecipe, scale: Scale, cost: str) -> float | None:
    """Return hours of a V100 at the paper's scale, else hours of a core; None where unknown.

    `cost` is the text of the catalog, which the paper's scale reads.

    >>> from softaug.lab.recipes.config import Recipe
    >>> estimate_hours(Recipe("a", "resnet18"), "paper", "5 runs, each 9 V100-hours (the paper's)")
    45.0
    """
    if scale != "paper":
        return SMOKE_SECONDS / 3600 if scale == "smoke" else cpu_minutes(recipe) / 60
    if (match := _V100.match(cost)) is None:
        return None
    times, number, unit = match.groups()
    return int(times or 1) * float(number) * (24 if unit == "day" else 1)


def cpu_minutes(recipe: AnyRecipe) -> float:
    """Return minutes of one core for a run at the cpu scale, an ensemble's members together."""
    data = recipe.data
    per_class = data.per_class or PER_CLASS.get(data.name, 0)
    num = CLASSES.get(data.name, 10) * per_class * recipe.epochs
    evaluation = EVALUATIONS.get(data.name, EVALUATION_MINUTES)
    if isinstance(recipe, PretrainRecipe):
        return num / PAIRS / 60 + PROBE_MINUTES + evaluation
    rate = RATES.get(data.name, IMAGES if recipe.augment.policy == "none" else WITH_POLICY)
    return (num / rate / 60 + evaluation) * recipe.members * SLOWER.get(recipe.model, 1)


def format_cost(hours: Sequence[float | None], scale: Scale) -> str:
    """Format the sum of costs, and how many of them are unknown.

    >>> format_cost([2.5, 9, None], "paper"), format_cost([None], "paper")
    ('11.5 V100-h + 1 unknown', 'unknown')
    >>> format_cost([0.2, 1.4], "cpu"), format_cost([0.2], "cpu"), format_cost([1234.0], "paper")
    ('1.6 core-h', '12 core-min', '1,234 V100-h')
    """
    estimated = [hour for hour in hours if hour is not None]
    unknown = len(hours) - len(estimated)
    if len(hours) == unknown == 1:
        return "unknown"
    total, device = sum(estimated), "V100" if scale == "paper" else "core"
    if total >= 1:
        text = f"{total:,.{1 if total < 100 else 0}f}".removesuffix(".0") + f" {device}-h"
    else:
        minutes = total * 60
        text = f"{minutes:.0f} {device}-min" if minutes >= 1 else f"{total * 3600:.0f} {device}-s"
    return " + ".join([text] * bool(estimated) + [f"{unknown} unknown"] * bool(unknown))


def estimate_left(
    costs: Mapping[str, float], ended: Mapping[str, float], at_once: int, elapsed: float
) -> float:
    """Return seconds until runs that are begun in order, `at_once` at a time, have all ended.

    `costs` of all runs may have any unit; `ended` has the seconds that runs took; `elapsed` is
    counted from the beginning of the first.

    >>> estimate_left({"a": 1, "b": 1, "c": 2}, {"a": 10.0}, at_once=2, elapsed=10.0)
    20.0
    """
    rate = median(seconds / costs[name] for name, seconds in ended.items())
    free = [0.0] * at_once
    for name, cost in costs.items():
        heapq.heapreplace(free, free[0] + ended.get(name, rate * cost))
    return max(max(free) - elapsed, 1.0)


def format_duration(seconds: float) -> str:
    """Format a time in the unit that one would use.

    >>> format_duration(42.4), format_duration(600), format_duration(10_000)
    ('42 s', '10 min', '2.8 h')
    >>> format_duration(200_000)
    '2.3 days'
    """
    for unit, length, digits in (("days", 86400, 1), ("h", 3600, 1), ("min", 60, 0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
