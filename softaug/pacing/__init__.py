"""Softness that paces itself: a transform's strength follows how training goes."""

from softaug.pacing.pacer import Pacer
from softaug.pacing.rules import (
    AccuracyHold,
    AccuracyLine,
    ConfidenceMatch,
    HeldOutGap,
    Means,
    PartsRule,
    Rule,
    Seen,
)

__all__ = [
    "AccuracyHold",
    "AccuracyLine",
    "ConfidenceMatch",
    "HeldOutGap",
    "Means",
    "Pacer",
    "PartsRule",
    "Rule",
    "Seen",
]
