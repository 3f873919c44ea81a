"""Label smoothing by the network's own mean predictions (online label smoothing)."""

import torch
from torch import Tensor, nn

from softaug.checks import check_share, check_whole
from softaug.label import AnyLabel, match_labels
from softaug.softening import all_reduce_sum


class OnlineSmoothing(nn.Module):
    """Base targets that follow the network: `SoftLoss(base=OnlineSmoothing(num_classes))`.

    The target of class y before softening is 1 - `share` for y and `share` of a row of y: the
    mean prediction for the samples of y that were classified right in the epoch before, even
    in the first (Zhang et al. 2021). The loss only reads it; the training loop fills it, by the
    two lines marked below. State is in `state_dict`, and alike in all processes.

    >>> from softaug import SoftLoss
    >>> smoothing = OnlineSmoothing(num_classes=2)
    >>> loss, logits, labels = SoftLoss(base=smoothing), torch.eye(2), torch.tensor([0, 1])
    >>> for epoch in range(2):
    ...     value = loss(logits, labels)
    ...     smoothing.gather(logits, labels)  # after each batch
    ...     smoothing.next_epoch()  # after each epoch
    >>> smoothing.target(labels)
    tensor([[0.8655, 0.1345],
            [0.1345, 0.8655]])
    """

    rows: Tensor
    sums: Tensor
    counts: Tensor

    def __init__(self, num_classes: int, share: float = 0.5) -> None:
        super().__init__()
        check_whole("OnlineSmoothing", "num_classes", num_classes, least=2)
        self.share = check_share("OnlineSmoothing", "share", share)
        even = torch.full((num_classes, num_classes), 1 / num_classes)
        self.register_buffer("rows", even)  # of this epoch
        self.register_buffer("sums", torch.zeros_like(even))  # for the next
        self.register_buffer("counts", torch.zeros(num_classes))

    def target(self, labels: Tensor) -> Tensor:
        """Return base targets [B, C] of classes [B]."""
        own = labels.new_full(labels.shape, 1 - self.share, dtype=self.rows.dtype)
        softened = self.share * self.rows[labels]
        return softened.scatter_add(1, labels.unsqueeze(1), own.unsqueeze(1))

    @torch.no_grad()
    def gather(self, logits: Tensor, label: AnyLabel) -> None:
        """Add the predictions of samples classified right to the sums of their classes.

        A mixed sample counts for the image of the larger share. Processes add up their
        samples, so all must call this together; their numbers may differ.
        """
        labels = match_labels("OnlineSmoothing", logits, label, len(self.rows))
        probs = logits.softmax(1, dtype=self.sums.dtype)
        best, guess = probs.max(1)
        right = (guess == labels) & best.isfinite()  # a diverged step leaves no trace
        counted = torch.cat([probs, torch.ones_like(probs[:, :1])], dim=1)
        counted = counted.where(right.unsqueeze(1), 0)
        sums = counted.new_zeros(len(self.rows), counted.shape[1]).index_add_(0, labels, counted)
        sums = all_reduce_sum(sums)
        self.sums += sums[:, :-1]
        self.counts += sums[:, -1]

    @torch.no_grad()
    def next_epoch(self) -> None:
        """Smooth by what was gathered, and gather anew.

        Classes of which no sample was classified right get an even row.
        """
        seen = self.counts.unsqueeze(1) > 0
        rows = torch.where(seen, self.sums, 1)
        self.rows.copy_(rows / rows.sum(1, keepdim=True))  # a prediction sums to 1, so the mean
        self.sums.zero_()
        self.counts.zero_()

    def extra_repr(self) -> str:
        return f"num_classes={len(self.rows)}, share={self.share}"
