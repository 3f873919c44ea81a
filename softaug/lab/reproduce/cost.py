"""What runs cost, in words and as numbers that can be added up."""

import re
from collections.abc import Sequence

from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import AnyRecipe, PretrainRecipe, Recipe
from softaug.lab.recipes.scale import PHOTOS, Scale

# resnet8-s2 in one thread of an AMD EPYC, by CPU time, a run of one to three epochs each: images a
# second with the measuring between epochs, and with a policy of torchvision's; photographs are
# read, too. An evaluation is of 10,000 images with 1 draw.
IMAGES, WITH_POLICY, PAIRS, PHOTOGRAPHS = 900, 620, 450, 190
PROBE_MINUTES, EVALUATION_MINUTES = 3, 0.7
SMOKE_SECONDS = 2
SLOWER = {"resnet20": 3.2}  # times the time of resnet8-s2, three epochs of each on an Intel Xeon
CLASSES = {"cifar10": 10, "cifar100": 100, "fashion-mnist": 10, PHOTOS: 10}
_V100 = re.compile(r"(?:(\d+) runs, each )?(?:about )?([\d.]+) V100-(hour|day)s")


def cost_in_words(catalogue: str, recipe: AnyRecipe, scale: Scale) -> str:
    """What one run takes: the catalogue's words at the paper's scale."""
    if scale == "paper":
        return find(catalogue).cost
    if scale == "smoke":
        return f"about {SMOKE_SECONDS} seconds on one CPU core"
    return f"about {cpu_minutes(recipe):.0f} minutes on one CPU core"


def cpu_minutes(recipe: AnyRecipe) -> float:
    """Minutes of one core for a run at the cpu scale, an ensemble's members together."""
    num = CLASSES[recipe.data.name] * (recipe.data.per_class or 0) * recipe.epochs
    if isinstance(recipe, PretrainRecipe):
        return num / PAIRS / 60 + PROBE_MINUTES + EVALUATION_MINUTES
    once = num / _rate(recipe) / 60 + EVALUATION_MINUTES
    return once * recipe.members * SLOWER.get(recipe.model, 1)


def _rate(recipe: Recipe) -> int:
    if recipe.data.name == PHOTOS:
        return PHOTOGRAPHS
    return IMAGES if recipe.augment.policy == "none" else WITH_POLICY


def v100_hours(words: str) -> float | None:
    """Hours of a V100 that a cost of the catalogue speaks of; None where it says none.

    >>> v100_hours("5 runs, each 9 V100-hours (the paper's)")
    45.0
    >>> v100_hours("about 16 V100-days (the paper's: 4 V100s for 4 days)")
    384.0
    """
    found = _V100.match(words)
    if found is None:
        return None
    times, number, unit = found.groups()
    return int(times or 1) * float(number) * (24 if unit == "day" else 1)


def cost_of(words: str, recipe: AnyRecipe, scale: Scale) -> float | None:
    """Hours of a V100 at the paper's scale, else hours of a core; None where it is not known.

    `words` is the cost in the catalogue's words, which only the paper's scale needs.
    """
    if scale == "paper":
        return v100_hours(words)
    return SMOKE_SECONDS / 3600 if scale == "smoke" else cpu_minutes(recipe) / 60


def sum_in_short(hours: Sequence[float | None], scale: Scale) -> str:
    """The sum of costs in few letters, and how many of them are not known.

    >>> sum_in_short([2.5, 9, None], "paper"), sum_in_short([None], "paper")
    ('11.5 V100-h + 1 unknown', 'unknown')
    >>> sum_in_short([0.2, 1.4], "cpu"), sum_in_short([0.2], "cpu")
    ('1.6 core-h', '12 core-min')
    """
    known = [hour for hour in hours if hour is not None]
    unknown = len(hours) - len(known)
    if len(hours) == unknown == 1:
        return "unknown"
    words = [_in_short(sum(known), "V100" if scale == "paper" else "core")] if known else []
    return " + ".join([*words, *([f"{unknown} unknown"] if unknown else [])])


def _in_short(hours: float, of: str) -> str:
    """Hours, or minutes or seconds where they are less than one.

    >>> _in_short(1234.0, "V100"), _in_short(0.5, "core"), _in_short(2 / 3600, "core")
    ('1,234 V100-h', '30 core-min', '2 core-s')
    """
    for unit, length in (("h", 1), ("min", 60)):
        if hours * length >= 1:
            digits = 1 if hours * length < 100 and unit == "h" else 0
            return f"{hours * length:,.{digits}f}".removesuffix(".0") + f" {of}-{unit}"
    return f"{hours * 3600:.0f} {of}-s"
