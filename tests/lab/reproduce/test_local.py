"""Runs in processes of this machine: the same whatever their number, and none is lost."""

import os
import signal
import time

from small_runs import OPTIONS, grid_run, has_begun, weights

from softaug.lab.reproduce.local import Worker, run_locally, stop_workers
from softaug.lab.reproduce.run_one import Outcome, get_state


def wait_until(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_one_at_a_time_and_two_at_a_time_learn_the_same_bits(tmp_path):
    found = []
    for at_once in (1, 2):
        runs = [
            grid_run(tmp_path / str(at_once), f"run{seed}", epochs=1, seed=seed) for seed in (0, 1)
        ]
        assert set(run_locally(runs, OPTIONS, at_once)) == {Outcome("run0"), Outcome("run1")}
        found.append([weights(run) for run in runs])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_a_process_that_dies_fails_its_run_alone_and_one_that_is_stopped_saves(tmp_path):
    killed, short, stopped = (
        grid_run(tmp_path, name, epochs=epochs)
        for name, epochs in (("killed", 10_000), ("short", 1), ("stopped", 10_000))
    )
    worker = Worker(OPTIONS)
    try:
        worker.begin(killed)
        wait_until(lambda: has_begun(killed))
        os.kill(worker._process.pid, signal.SIGKILL)
        assert "ended by SIGKILL" in worker.receive_outcome().error
        assert get_state(killed.folder) == "failed"
        worker.begin(short)
        assert worker.receive_outcome() == Outcome("short")
        worker.begin(stopped)
        wait_until(lambda: has_begun(stopped))
    finally:
        stop_workers([worker])
    assert not worker._process.is_alive()
    assert get_state(stopped.folder) == "begun"
    assert "run the same command to go on" in (stopped.folder / "log.txt").read_text()


def test_a_process_that_dies_with_nothing_to_do_is_replaced(tmp_path):
    worker = Worker(OPTIONS)
    try:
        os.kill(worker._process.pid, signal.SIGKILL)
        worker._process.join()
        worker.begin(grid_run(tmp_path, "short", epochs=1))
        assert worker.receive_outcome() == Outcome("short")
    finally:
        stop_workers([worker])
