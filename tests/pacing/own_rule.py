"""A rule of one's own, and answers of a network, for tests of the pacer."""

from dataclasses import dataclass

import torch

LABELS = torch.arange(10)
PLAIN = {"first": 0.1, "factor": 1.15, "settle": 0}


@dataclass(frozen=True)
class Line:
    """Ahead while accuracy is above a line from chance to `goal`."""

    goal: float = 0.95

    def lead(self, stats):
        return stats.accuracy - stats.chance - (self.goal - stats.chance) * stats.progress

    def ahead(self, group, overall, chance):
        return group.accuracy - overall.accuracy


def answers(right):
    """Sure logits for ten samples of ten classes: the first `right`, or those [10], correct."""
    right = right > LABELS if isinstance(right, int) else right
    return 20 * torch.eye(10)[torch.where(right, LABELS, (LABELS + 1) % 10)]
