"""Refusing scores and labels that do not belong together."""

from typing import Any

from torch import Tensor

from softaug.checks import check_integers, describe, refuse
from softaug.softening import check_num_classes


def check_scores(who: str, name: str, scores: Any, labels: Any) -> None:
    """Refuse all but finite scores [N, C] with integer labels [N] in 0..C - 1."""
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) == 0:
        refuse(who, f"{name} must be a non-empty tensor [N, C]", describe(scores))
    if not scores.dtype.is_floating_point:
        refuse(who, f"{name} must be floating point", describe(scores))
    check_num_classes(who, scores.shape[1])
    if not bool(scores.isfinite().all()):
        sample = int((~scores.isfinite()).any(1).nonzero()[0])
        refuse(who, f"{name} must be finite", f"{scores[sample].tolist()[:4]} (sample {sample})")
    _check_labels(who, scores, labels)


def _check_labels(who: str, scores: Tensor, labels: Any) -> None:
    if not isinstance(labels, Tensor) or labels.shape != scores.shape[:1]:
        rule = f"labels must be a tensor [N] with one label for each of the {len(scores)} samples"
        refuse(who, rule, describe(labels))
    check_integers(who, "labels", labels)
    low, high = (int(bound) for bound in labels.aminmax())
    if low < 0 or high >= scores.shape[1]:
        wrong = low if low < 0 else high
        refuse(who, f"labels must be in 0..{scores.shape[1] - 1}", wrong)
