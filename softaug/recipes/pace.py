"""Which rule sets a crop's strength while training goes on."""

from dataclasses import dataclass
from typing import Literal

from softaug.checks import (
    check_choice,
    check_positive,
    check_range,
    check_share,
    check_switch,
    check_whole,
    refuse,
)
from softaug.recipes.crops import Crop, NormalOffsets, NormalWindows
from softaug.transforms.paced import BY

RULES = ("none", "accuracy-hold", "accuracy-line", "held-out-gap", "confidence-match")
TO_GOAL = ("accuracy-line", "confidence-match")
TO_PARTS = ("accuracy-hold", "accuracy-line", "confidence-match")
TO_K = ("confidence-match",)
WHO = "augment.pace"


@dataclass(frozen=True)
class Pace:
    """The crop's sigma is set anew after each epoch; the recipe's is that of the first."""

    rule: Literal["none", "accuracy-hold", "accuracy-line", "held-out-gap", "confidence-match"] = (
        "none"
    )
    """sigma rises after an epoch with: accuracy on augmented images above what it was half way, or
    above a line over the epochs; accuracy on them above that on clean held-out images; true
    classes given more than a growing share of what targets ask; with less it falls. none leaves
    it as it is"""
    since: float | None = None
    """share of the epochs after which accuracy-hold holds accuracy; None is 0.5, but no later
    than the 20th epoch"""
    goal: float | None = None
    """where the line of accuracy, or the share of what targets ask, ends; None is 0.95"""
    held_out: int = 0
    """training images that are not trained on, for held-out-gap"""
    find_k: bool = False
    """the crop's k follows the accuracy on what is visible, by like steps; for
    confidence-match"""
    by: Literal["all", "class", "sample"] = "all"
    """classes, or training images, that are ahead of all together get up to twice the overall
    sigma, those behind down to half of it; not for held-out-gap"""
    factor: float = 1.3
    """of one change of sigma"""
    settle: float | None = None
    """share of the epochs, the last ones, with half of the sigma that was reached, but no less than
    least; None is 0.1, but no more than 4 epochs"""
    least: float = 0.05
    """smallest sigma"""
    most: float = 0.3
    """largest sigma"""

    def __post_init__(self) -> None:
        check_choice(WHO, "rule", self.rule, RULES)
        for name, share in {"since": self.since, "goal": self.goal, "settle": self.settle}.items():
            if share is not None:
                check_share(WHO, name, share)
        check_choice(WHO, "by", self.by, BY)
        check_whole(WHO, "held_out", self.held_out, least=0)
        check_switch(WHO, "find_k", self.find_k)
        check_range(WHO, "(least, most)", (self.least, self.most))
        if check_positive(WHO, "factor", self.factor) <= 1:
            refuse(WHO, "factor must be above 1", self.factor)
        _check_for_rule(self)

    @property
    def on(self) -> bool:
        """Whether anything is paced."""
        return self.rule != "none"


def _check_for_rule(pace: Pace) -> None:
    """Refuse settings that the rule would not use, and want those that it needs."""
    if pace.rule == "held-out-gap" and not pace.held_out:
        remedy = "such as 500; they are not trained on"
        refuse(WHO, "held_out must be above 0 for held-out-gap", 0, remedy)
    if pace.rule != "held-out-gap" and pace.held_out:
        refuse(WHO, "held_out is for held-out-gap", f"{pace.held_out} with {pace.rule}")
    if pace.rule not in TO_GOAL and pace.goal is not None:
        refuse(WHO, f"goal is for {', '.join(TO_GOAL)}", f"{pace.goal:g} with {pace.rule}")
    if pace.rule != "accuracy-hold" and pace.since is not None:
        refuse(WHO, "since is for accuracy-hold", f"{pace.since:g} with {pace.rule}")
    if pace.rule not in TO_PARTS and pace.by != "all":
        rule = f'by "{pace.by}" is for {", ".join(TO_PARTS)}'
        refuse(WHO, rule, pace.rule, "choose one of them, or by all")
    if pace.rule not in TO_K and pace.find_k:
        refuse(WHO, f"find_k is for {', '.join(TO_K)}", f"it with {pace.rule}")


def check_paced(pace: Pace, crop: Crop, scheduled: set[str]) -> None:
    """Refuse a crop without a sigma to set, and schedules of what is set."""
    if not pace.on:
        return
    if not isinstance(crop, NormalOffsets | NormalWindows):
        remedy = "begin from a soft recipe"
        refuse(WHO, "the crop must have a sigma", type(crop).__name__, remedy)
    if not pace.least <= crop.sigma <= pace.most:
        rule = f"the crop's sigma must be in {pace.least:g}..{pace.most:g} at first"
        refuse(WHO, rule, crop.sigma, "change augment.crop.sigma, or least and most")
    if pace.find_k and crop.k is None:
        refuse(WHO, "the crop must have a k to begin with for find_k", None)
    twice = scheduled & ({"crop.sigma", "crop.k"} if pace.find_k else {"crop.sigma"})
    if twice:
        remedy = "leave one of them out"
        refuse(WHO, "what is paced must have no schedule", ", ".join(sorted(twice)), remedy)
