"""Several models as one."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softaug.checks import describe, refuse
from softaug.metrics.scores import check_matrix


def mean_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Mean over the models of softmax(logits): [N, C] each to [N, C] float64.

    >>> mean_probabilities([torch.tensor([[0.0, 0.0]]), torch.tensor([[99.0, 0.0]])])
    tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    return _mean_log_probabilities("mean_probabilities", logits).exp()


def ensemble_logits(logits: Sequence[Tensor]) -> Tensor:
    """Logarithm of `mean_probabilities`, finite also where those underflow to 0.

    It stands for the ensemble wherever logits are taken (`nll`, `calibration_summary`).

    >>> ensemble_logits([torch.tensor([[0.0, 2000.0]]), torch.tensor([[0.0, 1000.0]])])
    tensor([[-1000.6931,     0.0000]], dtype=torch.float64)
    """
    return _mean_log_probabilities("ensemble_logits", logits)


def _mean_log_probabilities(who: str, logits: Sequence[Tensor]) -> Tensor:
    if isinstance(logits, Tensor) or not isinstance(logits, Sequence) or len(logits) == 0:
        rule = "logits must be a non-empty list of tensors [N, C], one for each model"
        refuse(who, rule, describe(logits))
    models = [check_matrix(who, "logits", model).double() for model in logits]
    for model in models:
        if model.shape != models[0].shape:
            rule = f"every model's logits must be {list(models[0].shape)} as the first's"
            refuse(who, rule, describe(model), "predict the same images with every model")
    each = torch.stack([model.log_softmax(1) for model in models])
    return each.logsumexp(0) - math.log(len(models))
