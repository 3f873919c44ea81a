import pytest
import torch

from softaug.metrics.classification import (
    assign_bins,
    equal_mass_edges,
    equal_width_edges,
    sum_by_bin,
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bins", [1, 2, 3, 10, 15, 49, 100])
def test_an_edge_belongs_to_the_bin_below_it(bins, dtype) -> None:
    edges = equal_width_edges(bins, torch.zeros(1, dtype=dtype))
    expected = [0, *range(bins)]
    assert assign_bins(edges, bins, "width").tolist() == expected


def test_zero_is_in_the_first_and_one_in_the_last_bin() -> None:
    assert assign_bins(torch.tensor([0.0, 1.0]), 15, "width").tolist() == [0, 14]


def test_more_bins_than_samples_leave_bins_empty() -> None:
    assert assign_bins(torch.tensor([0.2, 0.1]), 10, "mass").tolist() == [5, 0]


def test_all_equal_confidences_are_in_one_bin() -> None:
    sure = torch.ones(50)
    place = assign_bins(sure, 15, "mass")
    assert place.tolist() == [0] * 50
    assert equal_mass_edges(sure, place, 15).tolist() == [0] + [1] * 15


def test_sums_are_in_float64() -> None:
    values = torch.full((1000,), 0.1)
    total = sum_by_bin(torch.zeros(1000, dtype=torch.long), values, 2)
    assert total.tolist() == pytest.approx([1000 * float(values[0]), 0], rel=1e-12)
