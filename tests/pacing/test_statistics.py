import math

import pytest
import torch

from softaug import MixedLabel, SoftLabel, confidence, retained
from softaug.label import match_labels
from softaug.pacing.statistics import BINS, DOUBLING, UNIT, center_levels, measure_batch


def summed(logits, label, k=math.inf):
    found, bins = measure_batch(logits, label, match_labels("Pacer", logits, label), k)
    return torch.zeros(BINS, 5, dtype=torch.int64).index_add_(0, bins, found)


def batch(num=40, num_classes=4):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(num, num_classes, generator=generator)
    labels = torch.randint(num_classes, (num,), generator=generator)
    return logits, labels, torch.rand(num, generator=generator)


def slow(logits, labels, visible, k):
    """Sample by sample, in plain numbers."""
    table = [[0.0] * 5 for _ in range(BINS)]
    for row, label, v in zip(logits.tolist(), labels.tolist(), visible.tolist(), strict=True):
        whole = sum(map(math.exp, row))
        probs = [math.exp(value) / whole for value in row]
        right = max(probs) == probs[label]
        asked = confidence(retained(v, k), len(row))
        found = [1, right, probs[label], asked, 1 - v]
        place = min(int((1 - v) * BINS), BINS - 1)
        table[place] = [a + b for a, b in zip(table[place], found, strict=True)]
    return torch.tensor(table, dtype=torch.float64)


def in_shares(table):
    return table.double() / torch.tensor([1, 1, UNIT, UNIT, UNIT])


@pytest.mark.parametrize("k", [1.0, 3.5])
def test_sums_are_those_of_a_slow_count(k):
    logits, labels, visible = batch()
    found = summed(logits, SoftLabel(labels, retained(visible, k)), k)
    expected = slow(logits, labels, visible, k)  # little is left of 1 - retained in float32
    torch.testing.assert_close(in_shares(found), expected, atol=0.01, rtol=0)
    assert torch.equal(found[:, :2].double(), expected[:, :2])


def test_a_batch_in_any_parts_and_order_has_the_same_sums_to_the_bit():
    logits, labels, visible = batch()
    whole = summed(logits, SoftLabel(labels, visible), 2.0)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    groups = order.split([1, 17, 22])
    # A loader gives `retained` in float64.
    again = sum(summed(logits[p], SoftLabel(labels[p], visible[p].double()), 2.0) for p in groups)
    assert torch.equal(whole, again)


def test_plain_labels_are_of_whole_images_and_ask_for_certainty():
    logits, labels, _ = batch()
    num, _, _, asked, lost = summed(logits, labels, k=2.0)[0].tolist()
    assert (num, asked, lost) == (40, 40 * UNIT, 0)


def test_a_mixed_label_counts_for_its_larger_share():
    pair = MixedLabel(torch.tensor([[2, 0]]), torch.ones(1, 2), torch.tensor([[0.25, 0.75]]))
    found = in_shares(summed(torch.tensor([[5.0, 0.0, 0.0]]), pair))[0]
    assert found[:2].tolist() == [1, 1]
    assert float(found[3]) == pytest.approx(0.75)


def test_a_diverged_step_counts_as_wrong_and_unsure():
    found = summed(torch.full((2, 3), math.nan), torch.tensor([1, 2]))
    assert found.sum(0).tolist() == [2, 0, 0, 2 * UNIT, 0]


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (torch.zeros(3), torch.zeros(3).long(), r"logits must be \[B, C\] of two or more classes"),
        (torch.zeros(3, 1), torch.zeros(3).long(), "logits must be"),
        (torch.zeros(3, 2), torch.zeros(2).long(), "labels must be .* each of the 3 logits"),
        (torch.zeros(3, 2), 1, "labels must be .* got int 1"),
        (torch.zeros(3, 2), torch.zeros(3), "labels must be integers"),
        (torch.zeros(3, 2), torch.tensor([0, 2, 1]), r"labels must be in 0\.\.1, got 2"),
    ],
)
def test_bad_answers_are_refused(logits, labels, message):
    with pytest.raises(ValueError, match=f"^Pacer: {message}"):
        summed(logits, labels)


def test_levels_are_shifted_until_they_even_out_within_a_doubling():
    generator = torch.Generator().manual_seed(0)
    for num in (2, 3, 50):
        levels = torch.randint(-1300, 1300, (num,), generator=generator)
        found = center_levels(levels)
        assert found.abs().max() <= DOUBLING
        assert -num < found.sum() <= 0
        inside = found.abs() < DOUBLING
        assert len((found - levels)[inside].unique()) == 1
