"""Refusing scores and labels that do not belong together."""

from typing import Any

import torch
from torch import Tensor

from softaug.checks import NotFiniteError, check_integers, describe, refuse
from softaug.draws import has_float64
from softaug.softening import check_num_classes


def check_scores(who: str, name: str, scores: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Scores [N, C] and labels [N] int64, both on one device that has float64.

    Refuses all but finite scores with integer labels in 0..C - 1.
    """
    scores = check_matrix(who, name, scores)
    _check_labels(who, scores, labels)
    return scores, labels.to(scores.device).long()


def check_probs(who: str, probs: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """As `check_scores`, and refuses rows that are no probabilities."""
    probs, labels = check_scores(who, "probs", probs, labels)
    away = (probs.sum(1, dtype=torch.float64) - 1).abs() > 0.01  # 0.01: bfloat16
    if bool(probs.min() < 0) or bool(away.any()):
        off = (probs.amin(1) < 0) | away
        row = probs[int(off.nonzero()[0])].detach().double()
        got = f"a row from {float(row.min()):g} to {float(row.max()):g} with sum {row.sum():g}"
        refuse(who, "rows of probs must be >= 0 and sum to 1", got, "use logits.softmax(1)")
    return probs, labels


def check_matrix(who: str, name: str, scores: Any) -> Tensor:
    """Finite scores [N, C], moved to the CPU where their device has no float64."""
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) == 0:
        refuse(who, f"{name} must be a non-empty tensor [N, C]", describe(scores))
    if not scores.dtype.is_floating_point:
        refuse(who, f"{name} must be floating point", describe(scores))
    check_num_classes(who, scores.shape[1])
    if not bool(torch.stack(scores.aminmax()).isfinite().all()):  # 20 times as fast as of all
        sample = int((~scores.isfinite()).any(1).nonzero()[0])
        got = f"{scores[sample].tolist()[:4]} (sample {sample})"
        remedy = "a diverged model cannot be measured"
        refuse(who, f"{name} must be finite", got, remedy, NotFiniteError)
    found: Tensor = scores if has_float64(scores.device) else scores.cpu()
    return found


def _check_labels(who: str, scores: Tensor, labels: Any) -> None:
    if not isinstance(labels, Tensor) or labels.shape != scores.shape[:1]:
        rule = f"labels must be a tensor [N] with one label for each of the {len(scores)} samples"
        refuse(who, rule, describe(labels))
    check_integers(who, "labels", labels)
    low, high = (int(bound) for bound in labels.aminmax())
    if low < 0 or high >= scores.shape[1]:
        wrong = low if low < 0 else high
        remedy = "labels are class indices, one column of the scores for each class"
        refuse(who, f"labels must be in 0..{scores.shape[1] - 1}", wrong, remedy)
