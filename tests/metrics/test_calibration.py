import pytest
import torch
from torch import Tensor

from softaug.metrics import calibration_error, reliability


def slow_bins(probs: Tensor, labels: Tensor, bins: int) -> list[list[tuple[float, bool]]]:
    """Each sample's (confidence, right) in the first bin whose upper edge it does not pass."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for row, label in zip(probs.tolist(), labels.tolist(), strict=True):
        sure = max(row)
        place = next((b for b in range(bins) if sure <= (b + 1) / bins), bins - 1)
        groups[place].append((sure, row.index(sure) == label))
    return groups


def random_predictions(num: int, classes: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(num)
    logits = 3 * torch.randn(num, classes, generator=generator, dtype=torch.float64)
    return logits.softmax(1), torch.randint(classes, (num,), generator=generator)


def binary(*confidences: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor([[sure, 1 - sure] for sure in confidences], dtype=dtype)


@pytest.mark.parametrize("bins", [1, 7, 10, 15])
@pytest.mark.parametrize(("num", "classes"), [(1, 2), (300, 2), (500, 10)])
def test_equals_a_loop_over_samples(num, classes, bins) -> None:
    probs, labels = random_predictions(num, classes)
    groups = slow_bins(probs, labels, bins)
    found = reliability(probs, labels, bins)
    assert found.count.tolist() == [len(group) for group in groups]
    gaps = [abs(sum(sure - right for sure, right in group)) for group in groups]
    assert float(calibration_error(probs, labels, bins)) == pytest.approx(sum(gaps) / num)
    for place, group in enumerate(groups):
        if group:
            right = sum(right for _, right in group) / len(group)
            assert float(found.accuracy[place]) == pytest.approx(right)


def test_every_sample_is_in_exactly_one_bin_also_on_the_edges() -> None:
    edges = torch.arange(11, dtype=torch.float64) / 10
    for dtype in (torch.float32, torch.float64):
        probs = torch.zeros(11, 20, dtype=dtype)
        probs[:, 0] = edges.to(dtype)
        probs[:, 1:] = (1 - probs[:, :1]) / 19
        found = reliability(probs, torch.zeros(11, dtype=torch.long))
        # Rows 0 and 1 guess class 1 with 1/19 or class 0 with 0.1: both are in the first bin.
        assert found.count.tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def test_confidence_of_one_counts_in_the_last_bin() -> None:
    found = reliability(binary(1.0, 1.0), torch.tensor([0, 1]))
    assert found.count.tolist() == [0] * 9 + [2]
    assert float(found.accuracy[9]) == 0.5


def test_confidence_above_one_by_rounding_counts_in_the_last_bin() -> None:
    probs = torch.tensor([[1.0000001, 0.0]])
    assert reliability(probs, torch.tensor([0])).count.tolist() == [0] * 9 + [1]


def test_empty_bins_hold_zeros_and_no_nan() -> None:
    found = reliability(binary(0.95), torch.tensor([0]))
    for values in (found.confidence, found.accuracy):
        assert values[:9].tolist() == [0.0] * 9


def test_a_model_right_as_often_as_it_says_has_no_error() -> None:
    probs = binary(0.75, 0.75, 0.75, 0.75)
    assert float(calibration_error(probs, torch.tensor([0, 0, 0, 1]))) == 0


def test_sure_and_always_wrong_is_the_worst() -> None:
    assert float(calibration_error(binary(1.0, 1.0), torch.tensor([1, 1]))) == 1


def test_order_of_the_samples_does_not_matter() -> None:
    probs, labels = random_predictions(200, 5)
    backwards = calibration_error(probs.flip(0), labels.flip(0))
    assert float(backwards) == pytest.approx(float(calibration_error(probs, labels)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_types_agree_with_wide_ones(dtype) -> None:
    probs, labels = random_predictions(400, 4)
    narrow = probs.to(dtype)
    got, expected = (calibration_error(p, labels, bins=1) for p in (narrow, narrow.double()))
    assert float(got) == pytest.approx(float(expected), abs=2e-3)


@pytest.mark.parametrize("function", [calibration_error, reliability])
@pytest.mark.parametrize(
    ("probs", "labels", "bins", "message"),
    [
        (binary(0.5, 0.5) * 3, [0, 1], 10, r"sum to 1, .*softmax\(1\)"),
        (torch.tensor([[1.5, -0.5]]), [0], 10, ">= 0"),
        (binary(0.5), [0, 1], 10, "one label for each"),
        (binary(0.5), [2], 10, r"in 0\.\.1, got 2"),
        (binary(float("nan")), [0], 10, "finite"),
        (torch.empty(0, 3), [], 10, "non-empty"),
        (binary(0.5), [0], 0, "bins must be a whole number >= 1"),
        (binary(0.5), [0], 2.5, "bins must be a whole number >= 1"),
        (binary(0.5), [0], True, "bins must be a whole number >= 1"),
    ],
)
def test_bad_input_is_refused(function, probs, labels, bins, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(probs, torch.tensor(labels, dtype=torch.long), bins)
