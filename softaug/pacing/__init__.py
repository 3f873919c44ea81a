"""Softness that paces itself: a transform's strength follows how training goes."""

from softaug.pacing.pacer import Pacer
from softaug.pacing.rules import (
    AccuracyLine,
    ConfidenceMatch,
    HeldOutGap,
    Means,
    PartsRule,
    Rule,
    Seen,
)

__all__ = [
    "AccuracyLine",
    "ConfidenceMatch",
    "HeldOutGap",
    "Means",
    "Pacer",
    "PartsRule",
    "Rule",
    "Seen",
]
