"""Softness that paces itself: a transform's strength follows how training goes."""

from softaug.pacing.pacer import Pacer
from softaug.pacing.rules import (
    AccuracyHold,
    ConfidenceMatch,
    EpochStats,
    GroupMeans,
    GroupRule,
    Rule,
)

__all__ = [
    "AccuracyHold",
    "ConfidenceMatch",
    "EpochStats",
    "GroupMeans",
    "GroupRule",
    "Pacer",
    "Rule",
]
