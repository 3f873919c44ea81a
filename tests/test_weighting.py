import json
import subprocess
import sys

import pytest
import torch

from softaug.weighting import batch_weights, global_mean

WEIGHTS = [0.1, 0.9, 0.5, 1.0, 0.2]


def test_sample_weights_are_left_alone():
    weights = torch.tensor(WEIGHTS)
    assert torch.equal(batch_weights(weights, "sample"), weights)


def test_batch_mean_gives_every_sample_the_mean():
    factors = batch_weights(torch.tensor([0.2, 0.4, 0.9]), "batch_mean")
    torch.testing.assert_close(factors, torch.full((3,), 0.5))


def test_normalised_weights_have_mean_one_and_keep_their_ratios():
    weights = torch.tensor(WEIGHTS)
    factors = batch_weights(weights, "normalised")
    assert factors.mean().item() == pytest.approx(1)
    torch.testing.assert_close(factors / weights, (factors / weights)[0].expand(5))


@pytest.mark.parametrize("weighting", ["sample", "batch_mean", "normalised"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_zero_weights_stay_zero(weighting, dtype):
    factors = batch_weights(torch.zeros(4, dtype=dtype), weighting)
    assert factors.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_global_mean_keeps_the_type_of_its_values(dtype):
    mean = global_mean(torch.tensor([1.0, 2.0], dtype=dtype))
    assert (mean.item(), mean.dtype, mean.shape) == (1.5, dtype, ())


TWO_PROCESSES = """
import json, sys
import torch, torch.distributed as dist
from softaug import SoftLabel, SoftLoss
from softaug.weighting import batch_weights

rank, where, parts = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=2)
weights = torch.tensor(parts[rank])
out = {name: batch_weights(weights, name).tolist() for name in ("batch_mean", "normalised")}
logits = torch.zeros(len(weights), 2)
labels = SoftLabel(torch.zeros(len(weights), dtype=torch.long), weights)
out["loss"] = SoftLoss("weight", "normalised", reduction="none")(logits, labels).tolist()
print(json.dumps(out))
dist.destroy_process_group()
"""


def run_two_processes(where, parts):
    """What each of two gloo processes computes from its part of the weights, joined."""
    commands = [
        [sys.executable, "-c", TWO_PROCESSES, str(rank), str(where), json.dumps(parts)]
        for rank in range(2)
    ]
    started = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True) for c in commands]
    first, second = (json.loads(process.communicate(timeout=120)[0]) for process in started)
    return {name: first[name] + second[name] for name in first}


@pytest.mark.parametrize("split", [2, 1], ids=["sizes 2 and 3", "sizes 1 and 4"])
def test_two_processes_equal_one_on_the_joined_batch(tmp_path, split):
    out = run_two_processes(tmp_path / "store", [WEIGHTS[:split], WEIGHTS[split:]])
    joined = torch.tensor(WEIGHTS)
    for weighting in ("batch_mean", "normalised"):
        expected = batch_weights(joined, weighting)
        torch.testing.assert_close(torch.tensor(out[weighting]), expected)
    confidence = 0.5 + 0.5 * joined  # the loss at zero logits of two classes is log 2
    expected = confidence / confidence.mean() * torch.tensor(2.0).log()
    torch.testing.assert_close(torch.tensor(out["loss"]), expected)


def test_all_zero_weights_stay_zero_in_two_processes(tmp_path):
    out = run_two_processes(tmp_path / "store", [[0.0], [0.0, 0.0]])
    assert out["normalised"] == [0.0, 0.0, 0.0]
