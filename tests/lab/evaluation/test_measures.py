import math

import pytest
import torch

from softaug.lab.evaluation.measures import (
    confidence_histogram,
    halves_temperatures,
    measures,
    per_class,
    scale,
)
from softaug.metrics import error, fit_temperature


def some(num=41, classes=4, seed=0, sharp=1.0):
    """Logits that know a little of their labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (num,), generator=generator)
    logits = torch.randn(num, classes, generator=generator)
    logits[torch.arange(num), labels] += 1
    return sharp * logits, labels


def scale_by_halves(logits, labels):
    return scale(logits, halves_temperatures(logits, labels))


def test_each_half_is_scaled_by_the_temperature_of_the_other():
    logits, labels = some()
    temperatures = halves_temperatures(logits, labels)
    scaled = scale(logits, temperatures)
    even, odd = (fit_temperature(logits[half::2], labels[half::2]) for half in (0, 1))
    assert temperatures == [odd, even]
    assert even != odd
    assert scaled[0::2].equal(logits[0::2] / odd)
    assert scaled[1::2].equal(logits[1::2] / even)


def test_no_image_is_scaled_by_a_temperature_that_has_seen_it():
    logits, labels = some()
    before = scale_by_halves(logits, labels)
    for image in range(0, len(labels), 7):
        others = labels.clone()
        others[image] = (labels[image] + 1) % 4
        after = scale_by_halves(logits, others)
        assert after[image].equal(before[image])
        assert not after.equal(before), "the other half is scaled otherwise"


def test_scaling_leaves_what_it_is_given():
    logits, labels = some()
    copy = logits.clone()
    scaled = scale_by_halves(logits, labels)
    assert logits.equal(copy)
    assert scaled.argmax(1).equal(logits.argmax(1))


def test_one_temperature_scales_all():
    logits, _ = some()
    assert scale(logits, [2.5]).equal(logits / 2.5)


def test_a_histogram_worked_out_by_hand():
    probs = torch.tensor([[0.99, 0.01], [0.38, 0.62], [0.38, 0.62], [1.0, 0.0]])
    found = confidence_histogram(probs.clamp_min(1e-30).log(), torch.tensor([0, 0, 1, 0]), bins=10)
    assert found == {"right": [0] * 6 + [1, 0, 0, 2], "wrong": [0] * 6 + [1, 0, 0, 0]}


def test_a_histogram_counts_every_image_once():
    logits, labels = some(200)
    found = confidence_histogram(logits, labels)
    wrong = round(200 * float(error(logits, labels)))
    assert [len(counts) for counts in found.values()] == [20, 20]
    assert (sum(found["right"]), sum(found["wrong"])) == (200 - wrong, wrong)


def test_per_class_worked_out_by_hand():
    logits = torch.eye(3)[[0, 1, 1, 0]]
    found = per_class(logits, torch.tensor([0, 0, 1, 1]))
    assert found["count"] == [2, 2, 0]
    assert found["error"] == [0.5, 0.5, None]
    # softmax of (1, 0, 0): e / (e + 2), and 1 / (e + 2) for each other class
    right, wrong = math.e / (math.e + 2), 1 / (math.e + 2)
    surprise = -(math.log(right) + math.log(wrong)) / 2
    assert found["nll"] == [pytest.approx(surprise, abs=1e-6)] * 2 + [None]
    squares = ((1 - right) ** 2 + 2 * wrong**2, (1 - wrong) ** 2 + right**2 + wrong**2)
    assert found["brier"] == [pytest.approx(sum(squares) / 2, abs=1e-6)] * 2 + [None]
    assert found["confusion"] == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_measures_agree_with_each_other():
    logits, labels = some(300)
    scaled = scale_by_halves(logits, labels)
    found = measures(logits, labels, scaled)
    assert found["n"] == 300
    assert found["error"] == float(error(logits, labels))
    assert found["top5_error"] == 0, "there are but four classes"
    assert found["before"]["brier"] != found["after"]["brier"]
    counts = found["reliability"]["before"]["count"]
    assert sum(counts) == sum(map(sum, found["histogram"].values())) == 300
    gap = found["before"]["gap"]
    bins = found["reliability"]["before"]
    sure = sum(n * c for n, c in zip(counts, bins["confidence"], strict=True) if n) / 300
    assert gap == pytest.approx(sure - (1 - found["error"]), abs=1e-5)


def test_an_empty_bin_has_no_mean():
    logits, labels = torch.tensor([[9.0, 0.0]] * 3), torch.tensor([0, 0, 1])
    bins = measures(logits, labels, logits)["reliability"]["before"]
    assert bins["count"] == [0] * 14 + [3]
    assert all(value in (None, 0) for value in bins["accuracy"][:14])
    assert bins["accuracy"][14] == pytest.approx(2 / 3, abs=1e-6)
