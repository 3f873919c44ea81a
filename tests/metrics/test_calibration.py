import json

import pytest
import torch
from torch import Tensor

from softaug.metrics import (
    brier,
    calibration_error,
    calibration_summary,
    class_calibration_error,
    confidence_gap,
    image_gap,
    max_calibration_error,
    nll,
    reliability,
    smooth_calibration_error,
    sum_gaps,
    sum_smooth_gaps,
)
from softaug.metrics.calibration import debiased_square
from softaug.metrics.classification import assign_bins, equal_mass_edges, equal_width_edges


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bins", [1, 3, 10, 15, 49, 100])
def test_an_edge_belongs_to_the_bin_below_it(bins, dtype) -> None:
    edges = equal_width_edges(bins, torch.zeros(1, dtype=dtype))
    assert assign_bins(edges, bins, "width").tolist() == [0, *range(bins)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_types_agree_with_wide_ones(dtype) -> None:
    probs, labels = random_predictions(400, 4)
    narrow = probs.to(dtype)
    got, expected = (calibration_error(p, labels, bins=1) for p in (narrow, narrow.double()))
    assert float(got) == pytest.approx(float(expected), abs=2e-3)


def test_sure_ones_and_those_above_one_by_rounding_count_in_the_last_bin() -> None:
    probs, labels = torch.tensor([[1.0, 0.0], [1.0000001, 0.0]]), torch.tensor([0, 1])
    found = reliability(probs, labels)
    assert found.count.tolist() == [0] * 9 + [2]
    assert found.accuracy.tolist() == [0.0] * 9 + [0.5]  # no NaN in empty ones
    assert float(class_calibration_error(probs[1:], labels[:1])) < 1e-6


@pytest.mark.parametrize(
    ("probs", "labels", "expected"),
    [([0.75] * 4, [0, 0, 0, 1], 0), ([1.0, 1.0], [1, 1], 1), ([0.75, 1.0], [1, 1], 0.875)],
)
def test_calibration_error_equals_values_worked_by_hand(probs, labels, expected) -> None:
    assert float(calibration_error(binary(*probs), torch.tensor(labels))) == expected
    gap = sum(probs) / len(probs) - labels.count(0) / len(labels)
    assert float(confidence_gap(binary(*probs), torch.tensor(labels))) == gap


def slow_mass_bins(probs: Tensor, labels: Tensor, bins: int) -> list[list[tuple[float, bool]]]:
    """Each sample in the bin of its rank, the number of samples of lower confidence."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    all_sure = [max(row) for row in probs.tolist()]
    for sure, row, label in zip(all_sure, probs.tolist(), labels.tolist(), strict=True):
        below = sum(other < sure for other in all_sure)
        groups[int(below * bins / len(all_sure))].append((sure, row.index(sure) == label))
    return groups


SLOW = {"width": slow_bins, "mass": slow_mass_bins}


@pytest.mark.parametrize("binning", SLOW)
@pytest.mark.parametrize(("num", "classes"), [(1, 2), (200, 3), (300, 10)])
@pytest.mark.parametrize("steps", [None, 8])  # 8: confidences rounded to eighths, many ties
def test_figures_equal_a_loop_over_samples(num, classes, steps, binning) -> None:
    probs, labels = random_predictions(num, classes)
    if steps:
        top = (probs.amax(1, keepdim=True) * steps).round() / steps
        probs = torch.cat([top, (1 - top).expand(-1, classes - 1) / (classes - 1)], 1)
    for bins in (1, 7, 15):
        groups, square = SLOW[binning](probs, labels, bins), 0.0
        found = reliability(probs, labels, bins, binning)
        assert found.count.tolist() == [len(group) for group in groups]
        gaps = [sum(sure - right for sure, right in group) for group in groups]
        for place, (group, gap) in enumerate(zip(groups, gaps, strict=True)):
            right = sum(right for _, right in group) / max(len(group), 1)
            assert float(found.accuracy[place]) == pytest.approx(right)
            if len(group) > 1:
                spread = right * (1 - right) / (len(group) - 1)
                square += len(group) / num * ((gap / len(group)) ** 2 - spread)
        most = max(abs(gap) / len(group) for gap, group in zip(gaps, groups, strict=True) if group)
        settings = probs, labels, bins, binning
        mean = sum(map(abs, gaps)) / num
        assert float(calibration_error(*settings)) == pytest.approx(mean, abs=1e-12)
        assert float(max_calibration_error(*settings)) == pytest.approx(most, abs=1e-12)
        root = float(calibration_error(*settings, debias=True))
        assert root == pytest.approx(max(square, 0) ** 0.5, abs=1e-7)


def test_equal_mass_never_parts_equal_confidences() -> None:
    probs = binary(1.0, 1.0, 1.0, 1.0, 0.75, 0.5)
    found = reliability(probs, torch.tensor([0, 0, 1, 1, 0, 0]), 3, "mass")
    assert found.count.tolist() == [2, 4, 0]
    assert found.edges.tolist() == [0, 0.75, 1, 1]


def test_all_equal_confidences_are_in_one_bin_and_few_samples_leave_bins_empty() -> None:
    place = assign_bins(torch.ones(50), 15, "mass")
    assert place.tolist() == [0] * 50
    assert equal_mass_edges(torch.ones(50), place, 15).tolist() == [0] + [1] * 15
    assert assign_bins(torch.tensor([0.2, 0.1]), 10, "mass").tolist() == [5, 0]


def test_equal_mass_edges_enclose_their_samples() -> None:
    probs, labels = random_predictions(100, 5)
    found = reliability(probs, labels, 7, "mass")
    sure = probs.amax(1)
    inside = (sure > found.edges[:-1, None]) & (sure <= found.edges[1:, None])
    assert inside.sum(1).tolist() == found.count.tolist()
    assert (float(found.edges[0]), float(found.edges[-1])) == (0, 1)


def test_debiased_square_is_right_on_average() -> None:
    generator = torch.Generator().manual_seed(0)
    found, plain = [], []
    for _ in range(400):  # sure by 0.75, right by 0.5: the square is 0.0625
        labels = torch.randint(2, (8,), generator=generator)
        found.append(float(debiased_square(reliability(binary(*[0.75] * 8), labels))))
        plain.append(float(calibration_error(binary(*[0.75] * 8), labels)) ** 2)
    assert sum(found) / 400 == pytest.approx(0.0625, abs=0.019)  # 4 s.e.
    assert sum(plain) / 400 > 0.08


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
@pytest.mark.parametrize("classes", [2, 4, 30])
def test_class_wise_equals_a_loop_over_classes(bins, classes) -> None:
    probs, labels = random_predictions(120, classes)
    total = 0.0
    for label, column in enumerate(probs.T.tolist()):
        gaps = [0.0] * bins
        for sample, sure in enumerate(column):
            place = next(b for b in range(bins) if sure <= (b + 1) / bins)
            gaps[place] += sure - (int(labels[sample]) == label)
        total += sum(map(abs, gaps)) / 120
    got = class_calibration_error(probs, labels, bins)
    assert float(got) == pytest.approx(total / classes)


def test_class_wise_bounds() -> None:
    sure = torch.eye(4)
    assert float(class_calibration_error(sure, torch.arange(4))) == 0
    assert float(class_calibration_error(sure, (torch.arange(4) + 1) % 4)) == 0.5


def test_class_wise_sees_what_the_top_confidence_hides() -> None:
    probs = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    labels = torch.tensor([0, 1])  # right as often as sure, but 1 and 2 are mixed up
    assert float(calibration_error(probs, labels)) == 0
    assert float(class_calibration_error(probs, labels)) > 0.2


def test_mean_image_gaps_make_the_calibration_error() -> None:
    probs, labels = random_predictions(300, 5)
    rows = image_gap(probs, labels, bins=15)
    assert rows.shape == (300, 15)
    expected = float(calibration_error(probs, labels, bins=15))
    assert float(sum_gaps(rows.mean(0))) == pytest.approx(expected)


def test_smooth_ece_is_the_width_at_which_the_smoothed_gap_has_that_area() -> None:
    probs, labels = random_predictions(200, 3)
    found = float(smooth_calibration_error(probs, labels))
    sure, guess = probs.max(1)
    gap = sure - (guess == labels).double()
    at = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
    images = [at - sign * sure - shift for sign in (1, -1) for shift in (-2, 0, 2)]
    kernel = sum((-((away / found) ** 2) / 2).exp() for away in images)
    smoothed = (kernel * gap).mean(1) / (found * (2 * torch.pi) ** 0.5)
    assert float(torch.trapezoid(smoothed.abs(), at[:, 0])) == pytest.approx(found, rel=0.01)


def test_mean_rows_of_fine_bins_give_the_smooth_ece() -> None:
    probs, labels = random_predictions(300, 5)
    means = image_gap(probs, labels, bins=200).mean(0)
    expected = float(smooth_calibration_error(probs, labels))
    assert float(sum_smooth_gaps(means)) == pytest.approx(expected, rel=0.02)
    assert sum_smooth_gaps(torch.stack([means, 0 * means])).shape == (2,)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("temperature", [None, 2.5])
def test_each_figure_of_a_summary_is_its_functions(temperature) -> None:
    logits, labels = random_predictions(400, 6)[0].log(), random_predictions(400, 6)[1]
    scaled = logits / (temperature or 1.0)
    data = scaled.softmax(1), labels
    found = calibration_summary(logits.requires_grad_(), labels, temperature)
    assert json.loads(json.dumps(found)) == {
        "nll": float(nll(scaled, labels)),
        "brier": float(brier(*data)),
        "ece_10": float(calibration_error(*data, 10)),
        "ece_15": float(calibration_error(*data, 15)),
        "ece_15_mass": float(calibration_error(*data, 15, "mass")),
        "smooth_ece": float(smooth_calibration_error(*data)),
        "l2_15_mass_debiased": float(calibration_error(*data, 15, "mass", True)),
        "ece_15_classwise": float(class_calibration_error(*data, 15)),
        "mce_15": float(max_calibration_error(*data, 15)),
        "gap": float(confidence_gap(*data)),
        "temperature": temperature or 1.0,
    }


@pytest.mark.parametrize("function", [calibration_error, class_calibration_error, image_gap])
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
    ],
)
def test_bad_input_is_refused(function, probs, labels, bins, message) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(probs, torch.tensor(labels, dtype=torch.long), bins)


def test_unknown_binning_is_refused() -> None:
    with pytest.raises(ValueError, match=r"calibration_error: binning .*did you mean 'mass'"):
        calibration_error(binary(0.5), torch.tensor([0]), 10, "masss")
