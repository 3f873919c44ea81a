"""Suite "training": its tables, and that the loops compared do the same work."""

import json
import os
import socket

import pytest
import torch

from benchmarks import training_pair
from benchmarks.timing import Timing, one_thread
from benchmarks.training import (
    ADDED,
    APART,
    LAYOUT,
    ONE,
    OURS,
    PLAIN,
    TWO,
    WORKER,
    Sizes,
    training_suite,
)
from benchmarks.training_loops import (
    OurLoop,
    PlainCifar,
    PlainLoop,
    plain_loss,
    random_images,
    soft_recipe,
    training_data,
)
from softaug import SoftLabel, SoftLoss

TINY = Sizes(images=16, batch=4, large_batch=2, steps=1, process_steps=1)


def test_every_part_has_its_bound_its_rows_and_a_base_of_1(monkeypatch):
    pair = Timing({ONE: [1.8, 1.8], TWO: [1.0, 1.0], APART: [1.0, 1.0]})
    monkeypatch.setattr("benchmarks.training.measure_processes", lambda *_: pair)
    monkeypatch.setattr("benchmarks.training.num_cores", lambda: 2)
    monkeypatch.setattr("benchmarks.training.LARGE", "resnet20")  # not minutes of ResNet-18
    tables = training_suite(1, TINY)
    softness, small, large, processes = tables
    bounds = [(bound.limit, bound.at_least) for table in tables for bound in table.bounds]
    assert bounds == [(0.02, False), (1.3, True), (1.0, True), (1.7, True)]
    for table in tables:
        assert all(row.amount > 0 for row in table.rows if row.name != ADDED)
        assert all(row.ratio.median == 1 for row in table.rows if row.name == table.per)
    for table in (small, large):
        assert [row.name for row in table.rows] == [OURS, PLAIN, LAYOUT, WORKER]
    assert (processes.bounds[0].value, processes.bounds[0].passed) == (1.8, True)
    share = {row.name.split(",")[0]: row.ratio.median for row in softness.rows}
    parts = share["soft: draw"] + share["soft: SoftLoss"]
    less = share["hard: draw"] + share["hard: F.cross_entropy"]
    assert share[ADDED.split(",")[0]] == pytest.approx(parts - less)


def test_the_plain_loss_is_ours_with_a_weight_for_each_sample():
    torch.manual_seed(0)
    logits, labels, kept = torch.randn(6, 100), torch.randint(0, 100, (6,)), torch.rand(6)
    confidence = 1 / 100 + (1 - 1 / 100) * kept.double()
    expected = SoftLoss(weighting="sample")(logits, SoftLabel(labels, kept))
    torch.testing.assert_close(plain_loss(logits, labels, confidence), expected)


def test_both_loops_learn_and_the_plain_one_goes_on_after_an_epoch():
    recipe, images = soft_recipe("resnet8-s2", 4), random_images(8)
    plain = PlainLoop(recipe, PlainCifar(images), channels_last=True)
    ours = OurLoop(recipe, training_data(images))
    assert ours.task.criterion.soften == "both"
    assert plain.net.blocks[0].conv1.weight.is_contiguous(memory_format=torch.channels_last)
    for loop, weight in (
        (plain, plain.net.linear.weight),
        (ours, ours.trainer.net.net.linear.weight),
    ):
        before = weight.detach().clone()
        with one_thread():
            for _ in range(12):  # past a look at the losses
                loop.step()
        assert not torch.equal(weight, before)


def measure_one_of_two(rank, port, out):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    training_pair.main(out, "resnet8-s2", num_images=8, batch=4, rounds=2, steps=1)


def test_two_processes_are_timed_alone_together_and_apart(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = tmp_path / "seconds.json"
    start = torch.multiprocessing.start_processes
    start(measure_one_of_two, (port, out), nprocs=2, start_method="fork")
    seconds = json.loads(out.read_text())
    assert list(seconds) == ["alone", "together", "apart"]
    assert all(len(way) == 2 and min(way) > 0 for way in seconds.values())
