"""Every call of saving is, once each, the one that fails, and the last before process or power end.

Afterwards what is read is what was there before, or what was to be written; the same call again
then works.
"""

import errno
import json
import os
import sys
from types import SimpleNamespace

import pytest
import torch
from fault_layer import HOWS, FileLayer
from tiny_runs import tiny

from softaug.lab.io import write_json
from softaug.lab.training.checkpoint import newest, save, steps
from softaug.lab.training.logging import MetricLogger, read_metrics
from softaug.lab.training.run_dir import begin_run

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="pathlib keeps its own calls")


@pytest.fixture(autouse=True)
def _no_disk(monkeypatch):
    """What is synced is the layer's business: the tests' own files need not be."""
    monkeypatch.setattr(os, "fsync", lambda number: None)


def state(step):
    weights = {"weight": torch.full((3, 4), float(step))}
    return {"step": step, "model": weights, "optimizer": {"moment": torch.ones(3) * step}}


def quiet(text):
    pass


def save_over(*numbers):
    """Saving a step after others."""

    def prepare(folder):
        for number in numbers[:-1]:
            save(folder / "checkpoints", number, state(number))

    def read(folder):
        checkpoint = newest(folder / "checkpoints", quiet)
        if checkpoint is None:
            return 0
        step = checkpoint.state["step"]
        assert torch.equal(checkpoint.state["model"]["weight"], state(step)["model"]["weight"])
        return step

    def act(folder):
        if numbers[-1] not in [int(path.name[5:]) for path in steps(folder / "checkpoints")]:
            save(folder / "checkpoints", numbers[-1], state(numbers[-1]))

    return SimpleNamespace(prepare=prepare, act=act, read=read)


def recovery():
    """Reading where one checkpoint is damaged, one half written and one not yet dropped."""

    def prepare(folder):
        for number in (1, 2, 3):
            save(folder / "checkpoints", number, state(number))
        checkpoints = folder / "checkpoints"
        (checkpoints / "step-00000001").mkdir(exist_ok=True)
        (checkpoints / "step-00000003/state.json").write_bytes(b"{}")
        (checkpoints / ".writing-00000004").mkdir()
        (checkpoints / ".writing-00000004/model.safetensors").write_bytes(b"half")

    def read(folder):
        return newest(folder / "checkpoints", quiet).state["step"]

    return SimpleNamespace(prepare=prepare, act=read, read=read)


def result():
    """Writing a file over an earlier one."""
    return SimpleNamespace(
        prepare=lambda folder: write_json({"n": 1}, folder / "a.json"),
        act=lambda folder: write_json({"n": 2}, folder / "a.json"),
        read=lambda folder: json.loads((folder / "a.json").read_text())["n"],
    )


def beginning():
    """Writing recipe.json and run.json."""

    def read(folder):
        identity = begin_run(folder, tiny())
        return len(identity["run_id"])

    act = lambda folder: begin_run(folder, tiny())  # noqa: E731
    return SimpleNamespace(prepare=lambda folder: folder.mkdir(), act=act, read=read)


CASES = {
    "first checkpoint": (save_over(1), {0, 1}, 1),
    "second checkpoint": (save_over(1, 2), {1, 2}, 2),
    "third checkpoint": (save_over(1, 2, 3), {2, 3}, 3),
    "recovery": (recovery(), {2}, 2),
    "result": (result(), {1, 2}, 2),
    "beginning": (beginning(), {32}, 32),
}


def count_calls(case, folder):
    case.prepare(folder)
    with (layer := FileLayer()).installed():
        case.act(folder)
    return layer.calls


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", CASES)
def test_at_every_call_what_is_read_is_old_or_new_and_a_second_try_works(tmp_path, name, how):
    case, allowed, final = CASES[name]
    (tmp_path / "count").mkdir()
    calls = count_calls(case, tmp_path / "count" / "run")
    assert len(calls) >= 4
    for number, call in enumerate([*calls, "its end"]):
        folder = tmp_path / f"{number}" / "run"
        folder.parent.mkdir()
        case.prepare(folder)
        layer, refused = FileLayer(number, how, errno.EIO), []
        with layer.installed():
            try:
                case.act(folder)
            except OSError as error:
                refused.append(error.errno)
        assert refused in ([], [errno.EIO] if how == "fail" else [])
        assert len(layer.calls) >= number
        expected = allowed if call in calls else {final}
        assert case.read(folder) in expected, (number, call)
        case.act(folder)
        assert case.read(folder) == final, (number, call)
        assert not list(folder.rglob(".writing-*"))


@pytest.mark.parametrize("how", HOWS)
def test_at_every_call_a_row_is_there_or_not_and_those_before_it_stay(tmp_path, how):
    rows = [{"step": step, "epoch": step, "loss": 0.5} for step in (1, 2)]
    for number in range(3):  # open, write, fsync
        logger = MetricLogger(tmp_path / str(number))
        logger.log(rows[0])
        with FileLayer(number, how).installed():
            try:
                logger.log(rows[1])
            except OSError:
                assert how == "fail"
        assert read_metrics(tmp_path / str(number)) in (rows[:1], rows)
        logger.close()
        MetricLogger(tmp_path / str(number), rows[:1], lambda text: pytest.fail(text)).close()
