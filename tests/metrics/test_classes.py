import math

import pytest
import torch

from softaug.metrics import (
    brier,
    class_brier,
    class_count,
    class_error,
    class_nll,
    confusion_matrix,
    error,
    nll,
)

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randn(200, 5, generator=GENERATOR)
LABELS = torch.randint(4, (200,), generator=GENERATOR)  # class 4 has no sample


def test_confusion_equals_a_loop_over_samples() -> None:
    table = [[0] * 5 for _ in range(5)]
    for row, label in zip(LOGITS.tolist(), LABELS.tolist(), strict=True):
        table[label][row.index(max(row))] += 1
    assert confusion_matrix(LOGITS, LABELS).tolist() == table


def test_rows_of_confusion_are_the_class_counts() -> None:
    count = class_count(LABELS, 5)
    assert confusion_matrix(LOGITS, LABELS).sum(1).tolist() == count.tolist()
    assert count.tolist() == [LABELS.tolist().count(label) for label in range(5)]


def test_class_errors_average_to_the_error() -> None:
    share = class_count(LABELS, 5) / 200
    each = class_error(LOGITS, LABELS, 5)
    assert float((each * share).nansum()) == pytest.approx(float(error(LOGITS, LABELS)))


def test_class_error_is_the_error_of_its_samples() -> None:
    for label in range(4):
        own = torch.eq(LABELS, label)
        expected = float(error(LOGITS[own], LABELS[own]))
        assert float(class_error(LOGITS, LABELS)[label]) == pytest.approx(expected)


def test_class_nll_and_brier_are_those_of_its_samples() -> None:
    probs = LOGITS.softmax(1)
    for label in range(4):
        own = torch.eq(LABELS, label)
        found = float(class_nll(LOGITS, LABELS)[label]), float(class_brier(probs, LABELS)[label])
        expected = float(nll(LOGITS[own], LABELS[own])), float(brier(probs[own], LABELS[own]))
        assert found == pytest.approx(expected)
    assert math.isnan(float(class_nll(LOGITS, LABELS)[4]))
    assert math.isnan(float(class_brier(probs, LABELS)[4]))


def test_class_nll_and_brier_average_to_the_whole() -> None:
    share, probs = class_count(LABELS, 5) / 200, LOGITS.softmax(1)
    each, squares = class_nll(LOGITS, LABELS), class_brier(probs, LABELS)
    assert float((each * share).nansum()) == pytest.approx(float(nll(LOGITS, LABELS)))
    assert float((squares * share).nansum()) == pytest.approx(float(brier(probs, LABELS)))


def test_a_class_without_samples_has_no_error_to_speak_of() -> None:
    assert math.isnan(float(class_error(LOGITS, LABELS)[4]))


def test_a_perfect_model_has_a_diagonal_confusion() -> None:
    assert confusion_matrix(torch.eye(3), torch.arange(3)).tolist() == torch.eye(3).tolist()


def test_wrong_number_of_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="class_error: num_classes must be the 5 columns"):
        class_error(LOGITS, LABELS, 10)


@pytest.mark.parametrize("function", [class_brier, class_error, class_nll, confusion_matrix])
@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (LOGITS[:0], LABELS[:0], "non-empty"),
        (LOGITS, LABELS[1:], "one label for each of the 200"),
        (LOGITS * torch.nan, LABELS, "finite"),
        (LOGITS, LABELS + 3, r"in 0\.\.4"),
    ],
)
def test_bad_input_is_refused(function, logits, labels, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(logits, labels)


@pytest.mark.parametrize(
    ("labels", "num_classes", "message"),
    [
        (torch.tensor([5]), 5, r"in 0\.\.4, got 5"),
        (torch.tensor([-1]), 5, "got -1"),
        (torch.tensor([], dtype=torch.long), 5, "non-empty"),
        ([1, 2], 5, "tensor"),
        (torch.tensor([0.5]), 5, "integers"),
        (torch.tensor([0]), 1, "num_classes must be a whole number >= 2"),
    ],
)
def test_bad_labels_are_refused(labels, num_classes, message) -> None:
    with pytest.raises(ValueError, match=f"class_count: .*{message}"):
        class_count(labels, num_classes)
