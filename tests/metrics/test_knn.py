import math

import pytest
import torch

from softaug.metrics import knn_accuracy


def clouds(num, seed):
    """Three noisy directions in space, with their classes."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(num) % 3
    return torch.eye(3)[labels] + torch.randn(num, 3, generator=generator), labels


def slow_accuracy(known, classes, asked, labels, k, temperature):
    right = 0
    for feature, label in zip(asked.tolist(), labels.tolist(), strict=True):
        cosines = []
        for other, kind in zip(known.tolist(), classes.tolist(), strict=True):
            dot = sum(x * y for x, y in zip(feature, other, strict=True))
            cosines.append((dot / math.hypot(*feature) / math.hypot(*other), kind))
        votes = {}
        for cosine, kind in sorted(cosines, reverse=True)[:k]:
            votes[kind] = votes.get(kind, 0) + math.exp(cosine / temperature)
        right += max(votes, key=votes.get) == label
    return right / len(labels)


@pytest.mark.parametrize("k", [1, 5, 60])
@pytest.mark.parametrize("temperature", [0.07, 1.0])
def test_accuracy_is_that_of_a_slow_loop(k, temperature):
    data = *clouds(60, 0), *clouds(40, 1)
    found = float(knn_accuracy(*data, k=k, temperature=temperature))
    assert 0.4 < found < 0.9
    assert found == pytest.approx(slow_accuracy(*data, k, temperature))


def test_neither_lengths_of_features_nor_parts_of_the_work_matter(monkeypatch):
    known, classes, asked, labels = *clouds(60, 0), *clouds(40, 1)
    lengths = torch.arange(1, 61)[:, None]
    longer = knn_accuracy(known * lengths, classes, 5 * asked, labels, k=7)
    monkeypatch.setattr("softaug.metrics.knn._MOST_SIMILARITIES", 7 * 60)
    assert longer == knn_accuracy(known, classes, asked, labels, k=7)


def test_a_low_temperature_does_not_overflow_and_an_unseen_class_is_never_right():
    known, classes = clouds(60, 0)
    assert float(knn_accuracy(known, classes, known, classes, k=60, temperature=1e-4)) == 1
    assert float(knn_accuracy(known, classes, known, classes + 5, k=1)) == 0


KNOWN, CLASSES = clouds(6, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 7}, "k must be at most the number of train_features, 6, got 7"),
        ({"k": 0}, "k must be a whole number >= 1"),
        ({"temperature": 0}, "temperature must be > 0"),
        ({"train_features": KNOWN[0]}, r"train_features must be a non-empty tensor"),
        ({"features": KNOWN.long()}, "features must be floating point"),
        (
            {"features": KNOWN[:, :2]},
            "features must have as many dimensions as train_features, 3, got 2",
        ),
        ({"features": KNOWN * math.nan}, "features must be finite"),
        ({"labels": CLASSES[:5]}, r"labels must be a tensor \[N\] .* 6 samples"),
        ({"train_labels": CLASSES.float()}, "train_labels must be integers"),
        ({"labels": CLASSES - 1}, "labels must be >= 0, got -1"),
    ],
)
def test_bad_input_is_refused(changes, message):
    given = {"train_features": KNOWN, "train_labels": CLASSES, "features": KNOWN, "labels": CLASSES}
    with pytest.raises(ValueError, match=f"knn_accuracy: {message}"):
        knn_accuracy(**{**given, "k": 3, **changes})
