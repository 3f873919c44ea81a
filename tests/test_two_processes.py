"""What two processes compute together is what one computes of the joined batch."""

import json
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing import start_processes

from softaug import OnlineSmoothing, SoftLabel, SoftLoss, pair_weight, update_batchnorm
from softaug.softening import batch_weights

WEIGHTS = torch.tensor([0.1, 0.9, 0.5, 1.0, 0.2])
WHOLE = torch.tensor([[0.0, 0.0, 4.0, 4.0]]).repeat(5, 1)
PARTS = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 2], [2, 2, 4, 4], [1, 2, 2, 3], [4, 0, 8, 4.0]])
LABELS = torch.tensor([0, 0, 1, 2, 3])
IMAGES = torch.arange(60.0).reshape(5, 2, 6) ** 2  # [samples, channels, pixels]


def measure(rows):
    """All that processes share, of these rows of a batch."""
    weights, zeros = WEIGHTS[rows], torch.zeros_like(WEIGHTS[rows])
    loss = SoftLoss("weight", "normalized", reduction="none")
    smoothing, logits = OnlineSmoothing(4), torch.eye(4)[LABELS[rows]]
    smoothing.gather(logits, LABELS[rows])
    found = {
        "batch_mean": batch_weights(weights, "batch_mean"),
        "normalized": batch_weights(weights, "normalized"),
        "all zero": batch_weights(zeros, "normalized"),
        "loss": loss(torch.zeros(len(weights), 2), SoftLabel(zeros.long(), weights)),
        "pairs": pair_weight(WHOLE[rows], PARTS[rows]),
        "equal pairs": pair_weight(WHOLE[rows], WHOLE[rows], mode="SA2"),
    }
    both = {"sums": smoothing.sums.tolist(), "counts": smoothing.counts.tolist()}
    net = torch.nn.BatchNorm1d(2)
    update_batchnorm(net, IMAGES[rows].split(1))
    both |= {"mean": net.running_mean.tolist(), "var": net.running_var.tolist()}
    return {name: value.tolist() for name, value in found.items()}, both


def run_process(rank, folder):
    store, limit = f"file://{folder}/store", timedelta(seconds=60)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2, timeout=limit)
    found = [measure((slice(0, cut), slice(cut, 5))[rank]) for cut in (2, 1)]
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def by_two_processes(tmp_path_factory):
    """What each of two gloo processes found, for two splits of the batch."""
    folder = tmp_path_factory.mktemp("gloo")
    start_processes(run_process, (folder,), nprocs=2, start_method="fork")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("split", [0, 1])
def test_two_processes_are_one_with_the_joined_batch(by_two_processes, split):
    (first, both), (second, same) = (found[split] for found in by_two_processes)
    alone, sums = measure(slice(None))
    assert (alone["all zero"], alone["equal pairs"]) == ([0.0] * 5, [1.0] * 5)
    for name, value in alone.items():
        torch.testing.assert_close(torch.tensor(first[name] + second[name]), torch.tensor(value))
    assert both == same
    assert both["counts"] == sums["counts"]
    for name in ("sums", "mean", "var"):
        torch.testing.assert_close(torch.tensor(both[name]), torch.tensor(sums[name]))
