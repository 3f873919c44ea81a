import math

import pytest
import torch

from softaug.metrics import (
    auroc,
    brier,
    class_count,
    class_mean,
    confusion_matrix,
    ensemble_logits,
    error,
    image_auroc,
    image_brier,
    image_error,
    image_nll,
    max_probability,
    negative_energy,
    nll,
)

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randint(4, (200, 5), generator=GENERATOR).float()  # many ties
LABELS = torch.randint(4, (200,), generator=GENERATOR)  # class 4 has no sample
PAIRS = list(zip(LOGITS.tolist(), LABELS.tolist(), strict=True))
PROBS = LOGITS.double().softmax(1)


def slow_rank(row, label):
    """Classes ahead of the label: higher, or as high and before it."""
    higher = sum(value > row[label] for value in row)
    return higher + sum(value == row[label] for value in row[:label])


@pytest.mark.parametrize("top", [1, 2, 5])
def test_top_error_equals_a_loop_over_samples_also_with_ties(top) -> None:
    wrong = [slow_rank(row, label) >= top for row, label in PAIRS]
    assert image_error(LOGITS, LABELS, top).tolist() == wrong
    assert float(error(LOGITS, LABELS.to(torch.uint8), top)) == pytest.approx(sum(wrong) / 200)


@pytest.mark.parametrize("top", [0, 6, 1.5, True])
def test_bad_top_is_refused(top) -> None:
    with pytest.raises(ValueError, match="error: top must be"):
        error(LOGITS, LABELS, top)


def test_nll_equals_a_loop_over_samples() -> None:
    by_hand = [
        -math.log(math.exp(row[label]) / sum(math.exp(value) for value in row))
        for row, label in PAIRS
    ]
    assert image_nll(LOGITS, LABELS.int()).tolist() == pytest.approx(by_hand)
    assert float(nll(LOGITS, LABELS)) == pytest.approx(sum(by_hand) / 200)
    assert float(nll(torch.tensor([[1e4, -1e4]]), torch.tensor([1]))) == 2e4


def test_nll_has_the_gradient_of_cross_entropy() -> None:
    logits = LOGITS.clone().requires_grad_()
    nll(logits, LABELS).backward()
    torch.testing.assert_close(logits.grad, (LOGITS.softmax(1) - torch.eye(5)[LABELS]) / 200)


def test_brier_equals_a_loop_over_classes() -> None:
    by_hand = [
        sum((p - (place == label)) ** 2 for place, p in enumerate(row))
        for row, label in zip(PROBS.tolist(), LABELS.tolist(), strict=True)
    ]
    assert image_brier(PROBS, LABELS).tolist() == pytest.approx(by_hand)
    assert float(brier(PROBS, LABELS)) == pytest.approx(sum(by_hand) / 200)
    assert image_brier(torch.eye(2), torch.tensor([0, 0])).tolist() == [0, 2]


def test_confusion_and_class_counts_equal_a_loop_over_samples() -> None:
    table = [[0] * 5 for _ in range(5)]
    for row, label in PAIRS:
        table[label][row.index(max(row))] += 1
    assert confusion_matrix(LOGITS, LABELS).tolist() == table
    assert class_count(LABELS, 5).tolist() == [sum(row) for row in table]


def test_a_class_has_the_mean_of_its_samples_and_none_without_any() -> None:
    found = class_mean(image_error(LOGITS, LABELS), LABELS, 5).tolist()
    for label in range(4):
        own = torch.eq(LABELS, label)
        assert found[label] == pytest.approx(float(error(LOGITS[own], LABELS[own])))
    assert math.isnan(found[4])


MODELS = [torch.randn(20, 4, generator=GENERATOR) for _ in range(3)]


def test_an_ensemble_has_the_mean_probabilities_of_its_models() -> None:
    expected = sum(model.double().softmax(1) for model in MODELS) / 3
    torch.testing.assert_close(ensemble_logits(MODELS).exp(), expected)
    alone = MODELS[0].double().log_softmax(1)
    torch.testing.assert_close(ensemble_logits(MODELS[:1] * 5), alone)


def test_logits_of_an_ensemble_stay_finite_where_probabilities_underflow() -> None:
    sure = [torch.tensor([[3000.0, 0.0]])] * 2
    assert float(nll(ensemble_logits(sure), torch.tensor([1]))) == pytest.approx(3000)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "non-empty list"),
        (MODELS[0], "non-empty list"),
        ([MODELS[0], MODELS[1][:5]], r"must be \[20, 4\] as the first"),
        ([MODELS[0], MODELS[1] * math.nan], "finite"),
        ([MODELS[0][0]], r"\[N, C\]"),
    ],
)
def test_bad_models_are_refused(models, message) -> None:
    with pytest.raises(ValueError, match=f"ensemble_logits: .*{message}"):
        ensemble_logits(models)


@pytest.mark.parametrize("function", [error, nll, confusion_matrix])
@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (LOGITS[0], LABELS, r"non-empty tensor \[N, C\]"),
        (LOGITS[:0], LABELS[:0], "non-empty"),
        (LOGITS.long(), LABELS, "floating point"),
        (LOGITS[:, :1], LABELS * 0, "at least 2"),
        (LOGITS, LABELS[:, None], "one label for each of the 200"),
        (LOGITS, LABELS[1:], "one label for each of the 200"),
        (LOGITS, LABELS.tolist(), "must be a tensor"),
        (LOGITS, LABELS.float(), "integers"),
        (LOGITS, LABELS + 2, r"in 0\.\.4, got 5"),
        (LOGITS, LABELS - 1, r"in 0\.\.4, got -1"),
        (LOGITS / 0, LABELS, r"finite.*sample 0"),
    ],
)
def test_bad_scores_and_labels_are_refused(function, logits, labels, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(logits, labels)


def test_probabilities_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"brier: rows of probs must .* use logits.softmax\(1\)"):
        brier(LOGITS, LABELS)


def test_class_counts_have_their_own_number_of_classes() -> None:
    with pytest.raises(ValueError, match=r"class_count: labels must be in 0\.\.2, got 3"):
        class_count(LABELS, 3)
    with pytest.raises(ValueError, match="class_count: labels must be non-empty"):
        class_count(LABELS[:0], 3)
    with pytest.raises(ValueError, match="class_count: num_classes must be a whole number >= 2"):
        class_count(LABELS, 1)


def test_auroc_counts_the_pairs_in_order_and_ties_half() -> None:
    inside, outside = LOGITS[:60, 0], LOGITS[60:, 1]  # many ties
    won = (inside[:, None] > outside).double() + (inside[:, None] == outside).double() / 2
    assert image_auroc(inside, outside).tolist() == pytest.approx(won.mean(1).tolist())
    assert float(auroc(inside, outside)) == pytest.approx(float(won.mean()))
    assert float(auroc(outside, inside)) == pytest.approx(1 - float(won.mean()))


def test_scores_that_tell_images_of_other_classes_worked_out_by_hand() -> None:
    logits = torch.tensor([[math.log(3.0), 0.0], [math.log(3.0) + 5, 5.0]])
    assert max_probability(logits).tolist() == pytest.approx([0.75, 0.75])
    assert negative_energy(logits).tolist() == pytest.approx([math.log(4), math.log(4) + 5])


@pytest.mark.parametrize("outside", [torch.empty(0), torch.zeros(2, 2), torch.tensor([math.nan])])
def test_bad_scores_of_images_outside_are_refused(outside) -> None:
    with pytest.raises(ValueError, match=r"auroc: outside must be (a non-empty tensor|finite)"):
        auroc(torch.zeros(3), outside)
