"""Softness that paces itself: a transform's strength follows how training goes."""

from softaug.pacing.pacer import Pacer
from softaug.pacing.rules import AccuracyLine, ConfidenceMatch, HeldOutGap, Rule, Seen

__all__ = ["AccuracyLine", "ConfidenceMatch", "HeldOutGap", "Pacer", "Rule", "Seen"]
