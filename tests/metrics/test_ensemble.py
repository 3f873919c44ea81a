import math

import pytest
import torch

from softaug.metrics import ensemble_logits, error, mean_probabilities, nll

GENERATOR = torch.Generator().manual_seed(0)
MODELS = [torch.randn(20, 4, generator=GENERATOR) for _ in range(3)]
LABELS = torch.randint(4, (20,), generator=GENERATOR)


def test_equals_a_loop_over_models() -> None:
    expected = sum(model.double().softmax(1) for model in MODELS) / 3
    torch.testing.assert_close(mean_probabilities(MODELS), expected)
    torch.testing.assert_close(ensemble_logits(MODELS), expected.log())


def test_one_model_is_itself_and_copies_change_nothing() -> None:
    alone = MODELS[0].double().softmax(1)
    torch.testing.assert_close(mean_probabilities(MODELS[:1]), alone)
    torch.testing.assert_close(mean_probabilities(MODELS[:1] * 5), alone)


def test_nll_is_never_above_the_mean_of_the_models() -> None:
    each = [float(nll(model, LABELS)) for model in MODELS]
    assert float(nll(ensemble_logits(MODELS), LABELS)) <= sum(each) / 3


def test_guesses_of_logits_and_probabilities_agree() -> None:
    by_logits = error(ensemble_logits(MODELS), LABELS)
    assert float(by_logits) == float(error(mean_probabilities(MODELS), LABELS))


def test_logits_stay_finite_where_probabilities_underflow() -> None:
    sure = [torch.tensor([[3000.0, 0.0]])] * 2
    assert mean_probabilities(sure)[0].tolist() == [1, 0]
    assert float(nll(ensemble_logits(sure), torch.tensor([1]))) == pytest.approx(3000)


@pytest.mark.parametrize("function", [mean_probabilities, ensemble_logits])
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
def test_bad_models_are_refused(function, models, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(models)
