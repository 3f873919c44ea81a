"""How well features separate classes, without training anything on them."""

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.checks import check_positive, check_whole, refuse
from softaug.metrics.classification import check_labels, check_matrix, widen

WHO = "knn_accuracy"
_MOST_SIMILARITIES = 2**24  # at once: 64 MB


def knn_accuracy(
    train_features: Tensor,
    train_labels: Tensor,
    features: Tensor,
    labels: Tensor,
    k: int = 200,
    temperature: float = 0.1,
) -> Tensor:
    """Return the share of features [N, D] whose label wins the vote of their `k` neighbors.

    Near is a high cosine s to one of the training features [M, D], whose vote for its own label
    counts exp(s / temperature) (Wu et al. 2018). Of equal votes the lower class wins.

    >>> train = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    >>> queries = torch.tensor([[3.0, 1.0], [0.0, 1.0]])
    >>> knn_accuracy(train, torch.tensor([0, 1, 1]), queries, torch.tensor([0, 0]), k=1)
    tensor(0.5000, dtype=torch.float64)
    """
    features = check_matrix(WHO, "features", features)
    check_labels(WHO, "labels", labels, len(features))
    predicted = knn_predict(train_features, train_labels, features, k, temperature)
    return (predicted == labels.to(predicted.device)).double().mean()


def knn_predict(
    train_features: Tensor,
    train_labels: Tensor,
    features: Tensor,
    k: int = 200,
    temperature: float = 0.1,
) -> Tensor:
    """Return the label that wins the vote of the `k` nearest neighbors, [N]; see `knn_accuracy`.

    >>> train = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    >>> knn_predict(train, torch.tensor([0, 1, 1]), torch.tensor([[1.0, 3.0]]), k=2)
    tensor([1])
    """
    train_features = check_matrix(WHO, "train_features", train_features)
    features = check_matrix(WHO, "features", features)
    check_labels(WHO, "train_labels", train_labels, len(train_features))
    if features.shape[1] != train_features.shape[1]:
        rule = f"features must have as many dimensions as train_features, {train_features.shape[1]}"
        refuse(WHO, rule, features.shape[1])
    if check_whole(WHO, "k", k, least=1) > len(train_features):
        refuse(WHO, f"k must be at most the number of train_features, {len(train_features)}", k)
    check_positive(WHO, "temperature", temperature)
    return _vote(_unit(train_features), train_labels.long(), _unit(features), k, temperature)


def _vote(train: Tensor, labels: Tensor, queries: Tensor, k: int, temperature: float) -> Tensor:
    """Return the class that wins for each of the features, [N]."""
    labels, num_classes = labels.to(train.device), int(labels.max()) + 1
    winners = []
    for part in torch.split(queries, max(1, _MOST_SIMILARITIES // len(train))):
        neighbors = (part @ train.T).topk(k, dim=1)  # the nearest first
        behind = neighbors.values - neighbors.values[:, :1]  # at most 0: exp never overflows
        weights = (behind / temperature).exp()
        votes = weights.new_zeros(len(part), num_classes)
        winners.append(votes.scatter_add_(1, labels[neighbors.indices], weights).argmax(1))
    return torch.cat(winners)


def _unit(features: Tensor) -> Tensor:
    return F.normalize(widen(features), dim=1)
