"""Runs in processes of this machine: the same bits as in one process, and none is lost."""

import os
import signal
import time

from grid_runs import OPTIONS, grid_run, has_begun, weights

from softaug.lab.reproduce.local import Worker, run_locally, stop_workers
from softaug.lab.reproduce.run_one import Outcome, get_state, try_run


def wait_until(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_two_at_a_time_learn_the_same_bits_as_one_process(tmp_path):
    runs = [grid_run(tmp_path, f"run{seed}", epochs=1, seed=seed) for seed in (0, 1)]
    assert set(run_locally(runs, OPTIONS, at_once=2)) == {Outcome("run0"), Outcome("run1")}
    here = grid_run(tmp_path / "here", "run1", epochs=1, seed=1)
    try_run(here, OPTIONS)
    assert weights(here) == weights(runs[1]) != weights(runs[0])


def test_a_process_that_dies_is_replaced_and_one_that_is_stopped_saves(tmp_path):
    killed, short, stopped = (
        grid_run(tmp_path, name, epochs=epochs)
        for name, epochs in (("killed", 10_000), ("short", 1), ("stopped", 10_000))
    )
    worker = Worker(OPTIONS)
    try:
        os.kill(worker._process.pid, signal.SIGKILL)  # with nothing to do
        worker._process.join()
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
