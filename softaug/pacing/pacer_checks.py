"""What a pacer refuses."""

from typing import Any

from torch import Tensor

from softaug.checks import (
    check_choice,
    check_inside,
    check_integers,
    check_positive,
    check_whole,
    describe,
    refuse,
)
from softaug.draws import send
from softaug.label import MixedLabel, main_label
from softaug.pacing import sums
from softaug.pacing.parts import Parts
from softaug.pacing.rules import PartsRule, Rule
from softaug.transforms.base import SoftTransform
from softaug.transforms.paced import BY, SIGMA, Paced


def check_limits(
    transform: SoftTransform[Any], first: float | None, least: float | None, most: float | None
) -> tuple[float, float, float]:
    """First, least and most as given, else the transform's own; a first outside is refused."""
    own = transform.paceable
    assert own is not None, "check_auto sees to it"
    low, high = (
        check_positive("Pacer", name, own_limit if given is None else given)
        for name, given, own_limit in (("least", least, own.least), ("most", most, own.most))
    )
    if low > high:
        rule = f"least must be at most {high:g}, which most is"
        refuse("Pacer", rule, low, f"{transform.name} has {own.least:g} and {own.most:g}")
    if high > own.limit:
        rule = f"most must be at most {own.limit:g} for {own.name} of {transform.name}"
        refuse("Pacer", rule, most)
    start = min(max(own.least, low), high) if first is None else first
    if not low <= check_positive("Pacer", "first", start) <= high:
        refuse("Pacer", f"first must be in {low:g}..{high:g}", first)
    return float(start), low, high


def check_factor(factor: float) -> float:
    """Refuse steps that change nothing."""
    if check_positive("Pacer", "factor", factor) <= 1:
        refuse("Pacer", "factor must be above 1", factor)
    return float(factor)


def check_auto(transform: Any) -> Paced:
    """What the transform's strength is set by."""
    if not isinstance(transform, SoftTransform):
        remedy = 'such as SoftCrop(sigma="auto")'
        refuse("Pacer", "the transform must be a soft one", describe(transform), remedy)
    if transform.paceable is None:
        remedy = 'such as the sigma of SoftCrop(sigma="auto"); its class must name it as paceable'
        refuse("Pacer", "the transform must have a strength to set", transform.name, remedy)
    name = transform.paceable.name
    strength = getattr(transform, name)
    if not isinstance(strength, Paced):
        refuse("Pacer", f'{name} of {transform.name} must be "auto"', strength)
    return strength


def what_is_set(transform: SoftTransform[Any]) -> str:
    """In words: a sigma, of whatever transform, or the strength of this one."""
    own = transform.paceable
    assert own is not None, "check_auto sees to it"
    return own.name if own == SIGMA else f"{own.name} of {transform.name}"


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


def build_parts(by: str, num: int | None, rule: Rule, factor: float) -> Parts | None:
    """What each class or sample has of its own; None where all have one strength."""
    check_choice("Pacer", "by", by, BY)
    if by == "all":
        if num is not None:
            refuse("Pacer", 'num is for by "class" or "sample"', num)
        return None
    if num is None:
        what = "classes" if by == "class" else "training samples"
        refuse("Pacer", f'by "{by}" must have a num', None, f"give the number of {what}")
    if not isinstance(rule, PartsRule):
        remedy = "use AccuracyHold, AccuracyLine or ConfidenceMatch"
        refuse("Pacer", f'by "{by}" must have a rule that tells them apart', rule, remedy)
    return Parts(by, check_whole("Pacer", "num", num, least=2), factor**0.5)


def check_part(
    parts: Parts | None, logits: Tensor, label: sums.AnyLabel, sample: Tensor | None
) -> Tensor | None:
    """Which class or sample each of a batch is of, [B]; None where all have one strength."""
    by = "all" if parts is None else parts.by
    if sample is not None and by != "sample":
        refuse("Pacer", 'sample is for by "sample"', f'it with by "{by}"')
    if parts is None:
        return None
    if parts.by == "sample":
        return _check_sample(parts.num, logits, label, sample)
    if logits.shape[1] != parts.num:
        refuse("Pacer", f"logits must be of num = {parts.num} classes", logits.shape[1])
    labels = main_label(label)
    assert isinstance(labels, Tensor), "they have been checked"
    return labels.long()


def _check_sample(num: int, logits: Tensor, label: sums.AnyLabel, sample: Any) -> Tensor:
    if isinstance(label, MixedLabel):
        remedy = 'use by "class", or do not mix'
        refuse("Pacer", 'by "sample" is for labels of one image', "mixed labels", remedy)
    if not isinstance(sample, Tensor) or sample.shape != logits.shape[:1]:
        remedy = "watch(logits, label, sample=index), with the index of the draws' key"
        rule = f'by "sample" must have a sample for each of the {len(logits)} logits'
        refuse("Pacer", rule, describe(sample), remedy)
    check_integers("Pacer", "sample", sample)
    check_inside("Pacer", f"sample must be in 0..{num - 1}", sample, num)
    return send(sample, logits.device).long()


def check_feedback(table: Tensor, rule: Rule, epoch: int) -> None:
    """Refuse the sums of an `epoch` that nothing was watched of."""
    if not table[: sums.BINS, sums.NUM].any():
        remedy = "call watch(logits, label) after each batch, before next_epoch()"
        refuse("Pacer", "each epoch must be watched", f"nothing in epoch {epoch}", remedy)
    if rule.needs_held_out and not table[sums.BINS, sums.NUM]:
        remedy = "call watch(logits, labels, held_out=True) on clean images"
        rule_needs = f"{type(rule).__name__} needs images that are not trained on"
        refuse("Pacer", rule_needs, f"none in epoch {epoch}", remedy)
