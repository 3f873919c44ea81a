"""What a pacer remembers of an epoch: sums that stay on the device until it has ended."""

import math

import torch
from torch import Tensor

from softaug.checks import check_inside, check_integers, describe, refuse
from softaug.label import MixedLabel, SoftLabel, main_label
from softaug.softening import confidence

BINS = 10  # of augmented images, by the share that is lost; a last row is of held-out images
NUM, RIGHT, GIVEN, ASKED, LOST = range(5)
UNIT = 2**32  # shares are added up as whole numbers of 1 / UNIT: exact, in whatever order

AnyLabel = Tensor | SoftLabel | MixedLabel


def empty(device: torch.device | str = "cpu") -> Tensor:
    """Sums of no image: [BINS + 1, 5] int64."""
    return torch.zeros(BINS + 1, 5, dtype=torch.int64, device=device)


@torch.no_grad()
def each(logits: Tensor, label: AnyLabel, k: float = math.inf) -> tuple[Tensor, Tensor]:
    """Of each image the five numbers [B, 5] and its row [B], on the device of `logits`.

    `k` is the curve by which the labels were softened; it tells what share of an image was
    lost (inf: nothing is known, all are counted as whole).
    """
    labels = _check(logits, label)
    probs = logits.softmax(1, dtype=torch.float32)
    given = probs.gather(1, labels[:, None])[:, 0]
    lost = _lost(label, k, like=given)
    right = (probs.argmax(1) == labels).long()
    shares = [_whole(share) for share in (given, _asked(label, probs), lost)]
    found = torch.stack([torch.ones_like(right), right, *shares], dim=1)
    return found, (lost * BINS).long().clamp(0, BINS - 1)


def summed(found: Tensor, row: Tensor, held_out: bool = False) -> Tensor:
    """Sums [BINS + 1, 5] of what `each` gives, without waiting for the device."""
    row = torch.full_like(row, BINS) if held_out else row
    return empty(found.device).index_add_(0, row, found)


def _whole(share: Tensor) -> Tensor:
    """Shares in whole numbers of 1 / UNIT; what is no number, in a diverged step, counts 0."""
    return (share.nan_to_num(0) * UNIT).round().long()


def _asked(label: AnyLabel, probs: Tensor) -> Tensor:
    """What the targets give to the main classes, [B]."""
    num_classes = probs.shape[1]
    if isinstance(label, SoftLabel):
        kept = torch.as_tensor(label.retained, dtype=probs.dtype)
        return confidence(kept.to(probs.device), num_classes)
    if isinstance(label, MixedLabel):
        main = main_label(label)
        assert isinstance(main, Tensor)
        return label.dense(num_classes).gather(1, main[:, None])[:, 0]
    return torch.ones_like(probs[:, 0])


def _lost(label: AnyLabel, k: float, like: Tensor) -> Tensor:
    """The share of each image that is not visible, [B]: `retained` solved for it."""
    if not isinstance(label, SoftLabel) or math.isinf(k):
        return torch.zeros_like(like)
    kept = torch.as_tensor(label.retained, dtype=like.dtype)
    return (1 - kept.to(like.device)).clamp(0, 1) ** (1 / k)


def _check(logits: Tensor, label: AnyLabel) -> Tensor:
    """The class of each sample, [B]."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or logits.shape[1] < 2:
        refuse("Pacer", "logits must be [B, C] of two classes or more", describe(logits))
    labels = main_label(label)
    if not isinstance(labels, Tensor) or labels.shape != logits.shape[:1]:
        rule = f"labels must be [B], one for each of the {len(logits)} logits"
        refuse("Pacer", rule, describe(labels))
    check_integers("Pacer", "labels", labels)
    num_classes = logits.shape[1]
    rule = f"labels must be in 0..{num_classes - 1}, as there are {num_classes} logits each"
    check_inside("Pacer", rule, labels, num_classes)
    return labels.long()
