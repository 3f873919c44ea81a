import pytest
import torch

from softaug.metrics.classification import mass_edges, places, sum_by, width_edges


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bins", [1, 2, 3, 10, 15, 49, 100])
def test_an_edge_belongs_to_the_bin_below_it(bins, dtype) -> None:
    edges = width_edges(bins, torch.zeros(1, dtype=dtype))
    expected = [0, *range(bins)]
    assert places(edges, bins, "width").tolist() == expected


def test_zero_is_in_the_first_and_one_in_the_last_bin() -> None:
    assert places(torch.tensor([0.0, 1.0]), 15, "width").tolist() == [0, 14]


def test_more_bins_than_samples_leave_bins_empty() -> None:
    assert places(torch.tensor([0.2, 0.1]), 10, "mass").tolist() == [5, 0]


def test_all_equal_confidences_are_in_one_bin() -> None:
    sure = torch.ones(50)
    place = places(sure, 15, "mass")
    assert place.tolist() == [0] * 50
    assert mass_edges(sure, place, 15).tolist() == [0] + [1] * 15


def test_sums_are_in_float64() -> None:
    values = torch.full((1000,), 0.1)
    total = sum_by(torch.zeros(1000, dtype=torch.long), values, 2)
    assert total.tolist() == pytest.approx([1000 * float(values[0]), 0], rel=1e-12)
