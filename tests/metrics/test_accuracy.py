import math

import pytest
import torch

from softaug.metrics import error, nll

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


@pytest.mark.parametrize("function", [error, nll])
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
