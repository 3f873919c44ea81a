"""What a pacer refuses."""

from typing import Any

from torch import Tensor

from softaug.checks import check_positive, check_range, describe, refuse
from softaug.pacing import sums
from softaug.pacing.rules import Rule
from softaug.transforms.base import SoftTransform
from softaug.transforms.paced import Paced


def check_limits(first: float, least: float, most: float, factor: float) -> None:
    """Refuse a first strength outside its limits, and steps that change nothing."""
    low, high = check_range("Pacer", "(least, most)", (least, most))
    if not low <= check_positive("Pacer", "first", first) <= high:
        refuse("Pacer", f"first must be in {low:g}..{high:g}", first)
    if check_positive("Pacer", "factor", factor) <= 1:
        refuse("Pacer", "factor must be above 1", factor)


def check_auto(transform: Any) -> Paced:
    """What the transform's sigma is set by."""
    if not isinstance(transform, SoftTransform):
        remedy = 'such as SoftCrop(sigma="auto")'
        refuse("Pacer", "the transform must be a soft one", describe(transform), remedy)
    sigma = getattr(transform, "sigma", None)
    if sigma is None:
        remedy = 'SoftCrop(sigma="auto") has one, and SoftResizedCrop and SoftNoise'
        refuse("Pacer", "the transform must have a sigma", transform.name, remedy)
    if not isinstance(sigma, Paced):
        refuse("Pacer", f'sigma of {transform.name} must be "auto"', sigma)
    return sigma


def check_auto_k(transform: SoftTransform[Any], rule: Rule) -> Paced | None:
    """What the transform's k is set by; None where it is fixed."""
    if not isinstance(transform.k, Paced):
        return None
    if not rule.finds_k:
        remedy = "use ConfidenceMatch, or give the transform a k"
        refuse("Pacer", 'k "auto" must have a rule that finds one', rule, remedy)
    return transform.k


def check_rule(rule: Any) -> Rule:
    """Return `rule` if it is one: not its name, nor its class."""
    if isinstance(rule, type) or not isinstance(rule, Rule):
        remedy = "such as softaug.pacing.AccuracyLine()"
        refuse("Pacer", "rule must be a rule of softaug.pacing", describe(rule), remedy)
    return rule


def check_feedback(table: Tensor, rule: Rule, epoch: int) -> None:
    """Refuse the sums of an `epoch` that nothing was watched of."""
    if not table[: sums.BINS, sums.NUM].any():
        remedy = "call watch(logits, label) after each batch, before next_epoch()"
        refuse("Pacer", "each epoch must be watched", f"nothing in epoch {epoch}", remedy)
    if rule.needs_held_out and not table[sums.BINS, sums.NUM]:
        remedy = "call watch(logits, labels, held_out=True) on clean images"
        rule_needs = f"{type(rule).__name__} needs images that are not trained on"
        refuse("Pacer", rule_needs, f"none in epoch {epoch}", remedy)
