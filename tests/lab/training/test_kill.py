import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tiny_runs import rows, run, tiny, weights

from softaug.lab.recipes import as_dict

HARNESS = Path(__file__).with_name("kill_harness.py")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("kills")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HARNESS), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_kills_at_random_moments_leave_no_trace(report):
    assert report["kills"] >= 3
    assert all(ended == report["unbroken"] for ended in report["by the clock"])


def test_kills_within_writing_pruning_and_finishing_leave_no_trace(report):
    assert report["acts"] == 6
    assert report["in the act"] == report["unbroken"]


def test_all_that_is_learned_was_compared(report):
    names = ["ema", "model", "optimizer", "task"]
    assert sorted(report["unbroken"]["weights"]) == [f"{name}.safetensors" for name in names]
    assert report["unbroken"]["names"] == ["step-00000008", "step-00000009"]


RECIPE = tiny(epochs=15)


@pytest.fixture
def command(tmp_path):
    """Starts `softaug train` on a tiny recipe."""
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(as_dict(RECIPE)))
    threads = str(torch.get_num_threads())
    options = ["--out", str(tmp_path / "run"), "--checkpoint-steps", "1", "--threads", threads]

    def start():
        parts = [sys.executable, "-m", "softaug", "train", str(file), *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(parts, stdout=pipe, stderr=pipe, text=True)

    return start


def last_step(folder):
    found = [int(path.name[5:]) for path in (folder / "checkpoints").glob("step-*")]
    return max(found, default=0)


def stop(process, folder, number):
    """Send a signal once there is a new checkpoint; code and last line."""
    before = last_step(folder)
    while last_step(folder) == before and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1].strip().splitlines()
    return process.returncode, said[-1] if said else ""


def test_the_command_is_interrupted_and_killed_and_ends_as_if_it_never_was(command, tmp_path):
    folder = tmp_path / "run"
    code, said = stop(command(), folder, signal.SIGINT)  # SIGTERM: see test_resume
    assert code == 130
    assert said == (
        f"stopped after step {last_step(folder)} of 45, saved in {folder}; "
        "run the same command to go on"
    )
    assert stop(command(), folder, signal.SIGKILL)[0] == -signal.SIGKILL
    assert last_step(folder) < 45
    shown, complaints = command().communicate(timeout=100)
    assert "going on from step" in shown, complaints
    run(RECIPE, tmp_path / "unbroken", checkpoint_steps=1)
    assert weights(folder) == weights(tmp_path / "unbroken")
    assert rows(folder) == rows(tmp_path / "unbroken")
