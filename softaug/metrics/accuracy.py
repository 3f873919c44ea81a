"""Error, negative log-likelihood and Brier score of predictions.

Each is the mean of a value for each image (`image_...`), which a bootstrap over images takes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.checks import check_whole, refuse
from softaug.metrics.scores import check_probs, check_scores


def error(logits: Tensor, labels: Tensor, top: int = 1) -> Tensor:
    """Share of samples whose label is not among the `top` highest logits: 0 is perfect.

    >>> error(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    tensor(0.5000, dtype=torch.float64)
    >>> error(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([1]), top=2)
    tensor(0., dtype=torch.float64)
    """
    return _wrong("error", logits, labels, top).mean()


def image_error(logits: Tensor, labels: Tensor, top: int = 1) -> Tensor:
    """1 for each image whose label is not among the `top` highest logits, else 0; [N].

    >>> image_error(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    tensor([0., 1.], dtype=torch.float64)
    """
    return _wrong("image_error", logits, labels, top)


def nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of the labels, in nats: log C for a uniform guess.

    >>> nll(torch.zeros(1, 10), torch.tensor([3]))
    tensor(2.3026, dtype=torch.float64)
    """
    return _surprise("nll", logits, labels).mean()


def image_nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Negative log-likelihood of each image's label, in nats; [N].

    >>> image_nll(torch.tensor([[0.0, 0.0], [1000.0, 0.0]]), torch.tensor([0, 1]))
    tensor([6.9315e-01, 1.0000e+03], dtype=torch.float64)
    """
    return _surprise("image_nll", logits, labels)


def brier(probs: Tensor, labels: Tensor) -> Tensor:
    """Multi-class Brier score: squared differences to the one-hot label, summed over classes.

    The mean over samples; 0 is perfect, 2 is sure and wrong. (For two classes it is twice
    the binary score.)

    >>> brier(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([0, 0]))
    tensor(1.2500, dtype=torch.float64)
    """
    return _squares("brier", probs, labels).mean()


def image_brier(probs: Tensor, labels: Tensor) -> Tensor:
    """Brier score of each image, [N].

    >>> image_brier(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([0, 0]))
    tensor([0.5000, 2.0000], dtype=torch.float64)
    """
    return _squares("image_brier", probs, labels)


def _wrong(who: str, logits: Tensor, labels: Tensor, top: int) -> Tensor:
    logits, labels = check_scores(who, "logits", logits, labels)
    num_classes = logits.shape[1]
    if check_whole(who, "top", top, least=1) > num_classes:
        refuse(who, f"top must be at most the number of classes {num_classes}", top)
    if top == 1:
        return (logits.argmax(1) != labels).double()
    # Of equal logits the lower class is ahead, as in argmax: topk leaves this open.
    own = logits.gather(1, labels[:, None])
    before = torch.arange(num_classes, device=logits.device) < labels[:, None]
    ahead = (logits > own) | ((logits == own) & before)
    return (ahead.sum(1) >= top).double()


def _surprise(who: str, logits: Tensor, labels: Tensor) -> Tensor:
    logits, labels = check_scores(who, "logits", logits, labels)
    return F.cross_entropy(logits.double(), labels, reduction="none")


def _squares(who: str, probs: Tensor, labels: Tensor) -> Tensor:
    probs, labels = check_probs(who, probs, labels)
    wide = probs.double()
    own = wide.gather(1, labels[:, None]).squeeze(1)
    # Every class's p^2, less the label's, plus its (1 - p)^2; never below 0 by rounding.
    return ((wide * wide).sum(1) + (1 - 2 * own)).clamp_min(0)
