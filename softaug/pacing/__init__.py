"""Softness that paces itself: a transform's strength follows how training goes."""

from softaug.pacing.pacer import Pacer
from softaug.pacing.rules import (
    AccuracyHold,
    AccuracyLine,
    ConfidenceMatch,
    EpochStats,
    GroupMeans,
    GroupRule,
    HeldOutGap,
    Rule,
)

__all__ = [
    "AccuracyHold",
    "AccuracyLine",
    "ConfidenceMatch",
    "EpochStats",
    "GroupMeans",
    "GroupRule",
    "HeldOutGap",
    "Pacer",
    "Rule",
]
