import json
import math
import subprocess
import sys

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


SPLITS = {
    "2 and 3": [WEIGHTS[:2], WEIGHTS[2:]],
    "1 and 4": [WEIGHTS[:1], WEIGHTS[1:]],
    "all zero": [[0.0], [0.0, 0.0]],
}
ONE_OF_TWO_PROCESSES = """
import json, sys
import torch, torch.distributed as dist
from softaug import SoftLabel, SoftLoss
from softaug.softening import batch_weights

rank, where, splits = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=2)
out = {}
for split, parts in splits.items():
    weights = torch.tensor(parts[rank])
    out[split] = {w: batch_weights(weights, w).tolist() for w in ("batch_mean", "normalized")}
    label = SoftLabel(torch.zeros(len(weights), dtype=torch.long), weights)
    loss = SoftLoss("weight", "normalized", reduction="none")(torch.zeros(len(weights), 2), label)
    out[split]["loss"] = loss.tolist()
print(json.dumps(out))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def by_two_processes(tmp_path_factory):
    """Split to what two gloo processes compute from their parts of the weights, joined."""
    where = tmp_path_factory.mktemp("gloo") / "store"
    commands = [
        [sys.executable, "-c", ONE_OF_TWO_PROCESSES, str(rank), str(where), json.dumps(SPLITS)]
        for rank in range(2)
    ]
    started = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True) for c in commands]
    first, second = (json.loads(process.communicate(timeout=120)[0]) for process in started)
    return {s: {name: first[s][name] + second[s][name] for name in first[s]} for s in SPLITS}


@pytest.mark.parametrize("split", ["2 and 3", "1 and 4"])
@pytest.mark.parametrize("weighting", ["batch_mean", "normalized"])
def test_two_processes_weigh_as_one_does_the_joined_batch(by_two_processes, split, weighting):
    found = torch.tensor(by_two_processes[split][weighting])
    torch.testing.assert_close(found, batch_weights(torch.tensor(WEIGHTS), weighting))


@pytest.mark.parametrize("split", ["2 and 3", "1 and 4"])
def test_loss_of_two_processes_is_normalised_over_both(by_two_processes, split):
    confidence = 0.5 + 0.5 * torch.tensor(WEIGHTS)
    expected = confidence / confidence.mean() * math.log(2)  # two classes, zero logits
    torch.testing.assert_close(torch.tensor(by_two_processes[split]["loss"]), expected)


def test_all_zero_weights_stay_zero_in_two_processes(by_two_processes):
    assert by_two_processes["all zero"]["normalized"] == [0.0, 0.0, 0.0]
