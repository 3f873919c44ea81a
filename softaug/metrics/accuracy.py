"""Error and negative log-likelihood of predictions."""

import torch.nn.functional as F
from torch import Tensor

from softaug.metrics.scores import check_scores


def error(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of samples whose highest logit is not the label's: 0 is perfect.

    >>> import torch
    >>> error(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    tensor(0.5000, dtype=torch.float64)
    """
    check_scores("error", "logits", logits, labels)
    return (logits.argmax(1) != labels).double().mean()


def nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of the labels, in nats: log C for a uniform guess.

    >>> import torch
    >>> nll(torch.zeros(1, 10), torch.tensor([3]))
    tensor(2.3026, dtype=torch.float64)
    """
    check_scores("nll", "logits", logits, labels)
    return F.cross_entropy(logits.double(), labels.long())
