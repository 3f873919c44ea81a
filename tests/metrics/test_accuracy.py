import math

import pytest
import torch

from softaug.metrics import brier, error, image_brier, image_error, image_nll, nll

LOGITS = torch.tensor([[2.0, 1.0, 0.0], [0.0, 5.0, 1.0], [0.0, 0.0, 1.0], [3.0, 0.0, 0.0]])
LABELS = torch.tensor([0, 1, 0, 2])


def test_error_is_the_share_of_wrong_guesses() -> None:
    assert float(error(LOGITS, LABELS)) == 0.5


def test_nll_equals_a_loop_over_samples() -> None:
    by_hand = 0.0
    for row, label in zip(LOGITS.tolist(), LABELS.tolist(), strict=True):
        by_hand -= math.log(math.exp(row[label]) / sum(math.exp(value) for value in row))
    assert float(nll(LOGITS, LABELS)) == pytest.approx(by_hand / 4)


def test_nll_of_large_logits_is_exact() -> None:
    assert float(nll(torch.tensor([[1e4, -1e4]]), torch.tensor([1]))) == 2e4


def slow_rank(row, label):
    """Classes ahead of the label: higher, or as high and before it."""
    higher = sum(value > row[label] for value in row)
    return higher + sum(value == row[label] for value in row[:label])


@pytest.mark.parametrize("top", [1, 2, 3, 5])
def test_top_error_equals_a_loop_over_samples_also_with_ties(top) -> None:
    generator = torch.Generator().manual_seed(top)
    logits = torch.randint(4, (300, 6), generator=generator).float()  # many ties
    labels = torch.randint(6, (300,), generator=generator)
    pairs = zip(logits.tolist(), labels.tolist(), strict=True)
    wrong = [slow_rank(row, label) >= top for row, label in pairs]
    assert image_error(logits, labels, top).tolist() == wrong
    assert float(error(logits, labels, top)) == pytest.approx(sum(wrong) / 300)


def test_all_classes_are_among_the_top_of_all() -> None:
    assert float(error(LOGITS, LABELS, top=3)) == 0


@pytest.mark.parametrize("top", [0, 4, 1.5, True])
def test_bad_top_is_refused(top) -> None:
    with pytest.raises(ValueError, match="error: top must be"):
        error(LOGITS, LABELS, top)


def test_brier_equals_a_loop_over_classes() -> None:
    probs = LOGITS.double().softmax(1)
    by_hand = [
        sum((p - (place == label)) ** 2 for place, p in enumerate(row))
        for row, label in zip(probs.tolist(), LABELS.tolist(), strict=True)
    ]
    assert image_brier(probs, LABELS).tolist() == pytest.approx(by_hand)
    assert float(brier(probs, LABELS)) == pytest.approx(sum(by_hand) / 4)


def test_brier_of_a_uniform_guess_is_one_minus_chance() -> None:
    assert float(brier(torch.full((3, 10), 0.1), torch.arange(3))) == pytest.approx(0.9)


def test_brier_is_0_for_sure_and_right_2_for_sure_and_wrong() -> None:
    assert image_brier(torch.eye(2), torch.tensor([0, 0])).tolist() == [0, 2]


def test_a_metric_is_the_mean_of_its_image_values() -> None:
    assert float(nll(LOGITS, LABELS)) == float(image_nll(LOGITS, LABELS).mean())
    assert float(error(LOGITS, LABELS)) == float(image_error(LOGITS, LABELS).mean())


def test_labels_of_any_integer_type_do() -> None:
    assert float(error(LOGITS, LABELS.to(torch.uint8))) == 0.5
    assert float(nll(LOGITS, LABELS.int())) == float(nll(LOGITS, LABELS))


def test_nll_has_the_gradient_of_cross_entropy() -> None:
    logits = LOGITS.clone().requires_grad_()
    nll(logits, LABELS).backward()
    expected = (LOGITS.softmax(1) - torch.eye(3)[LABELS]) / 4
    torch.testing.assert_close(logits.grad, expected)


def test_probabilities_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"brier: rows of probs must .* use logits.softmax\(1\)"):
        brier(LOGITS, LABELS)


@pytest.mark.parametrize("function", [error, nll, image_error, image_nll])
@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (LOGITS[0], LABELS, r"non-empty tensor \[N, C\]"),
        (LOGITS[:0], LABELS[:0], "non-empty"),
        (LOGITS.long(), LABELS, "floating point"),
        (LOGITS[:, :1], LABELS * 0, "at least 2"),
        (LOGITS, LABELS[:, None], "one label for each of the 4"),
        (LOGITS, LABELS.tolist(), "must be a tensor"),
        (LOGITS, LABELS.float(), "integers"),
        (LOGITS, LABELS + 1, r"in 0\.\.2, got 3"),
        (LOGITS, LABELS - 1, r"in 0\.\.2, got -1"),
        (LOGITS / 0, LABELS, r"finite.*sample 0"),
    ],
)
def test_bad_input_is_refused(function, logits, labels, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(logits, labels)
