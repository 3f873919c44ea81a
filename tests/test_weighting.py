import pytest
import torch

from softaug.softening import all_reduce_mean, batch_weights

WEIGHTS = [0.1, 0.9, 0.5, 1.0, 0.2]


def test_sample_weights_are_left_alone():
    weights = torch.tensor(WEIGHTS)
    assert torch.equal(batch_weights(weights, "sample"), weights)


def test_batch_mean_gives_every_sample_the_mean():
    factors = batch_weights(torch.tensor([0.2, 0.4, 0.9]), "batch_mean")
    torch.testing.assert_close(factors, torch.full((3,), 0.5))


def test_normalised_weights_have_mean_one_and_keep_their_ratios():
    weights = torch.tensor(WEIGHTS)
    factors = batch_weights(weights, "normalized")
    assert factors.mean().item() == pytest.approx(1)
    torch.testing.assert_close(factors / weights, (factors / weights)[0].expand(5))


@pytest.mark.parametrize("weighting", ["sample", "batch_mean", "normalized"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_zero_weights_stay_zero(weighting, dtype):
    factors = batch_weights(torch.zeros(4, dtype=dtype), weighting)
    assert factors.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_global_mean_keeps_the_type_of_its_values(dtype):
    mean = all_reduce_mean(torch.tensor([1.0, 2.0], dtype=dtype))
    assert (mean.item(), mean.dtype, mean.shape) == (1.5, dtype, ())
