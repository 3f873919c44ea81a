import pytest
import torch

from softaug.lab.training import logging as stopwatch
from softaug.lab.training.logging import PHASES, SAMPLED, Stopwatch


@pytest.fixture
def tick(monkeypatch):
    """A clock that moves only by `tick(seconds)`."""
    now = [100.0]

    def move(seconds):
        now[0] += seconds

    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])
    return move


def timed(clock, tick, step):
    clock.start(step)
    for seconds, phase in enumerate(PHASES, start=1):
        tick(seconds)
        clock.lap(phase)


def test_each_phase_gets_the_time_since_the_lap_before(tick):
    clock = Stopwatch(torch.device("cpu"))
    for step in range(2):
        timed(clock, tick, step)
        tick(1000)  # between steps nothing is counted
    assert clock.seconds == dict(zip(PHASES, (2.0, 4.0, 6.0, 8.0, 10.0), strict=True))
    assert clock.shares()["optimiser"] == pytest.approx(1 / 3)
    assert sum(clock.shares().values()) == pytest.approx(1)


def test_nothing_timed_is_shares_of_0():
    assert set(Stopwatch(torch.device("cpu")).shares().values()) == {0.0}


def test_an_accelerator_is_waited_for_in_one_step_of_20(tick, monkeypatch):
    waits = []
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: waits.append(1))
    clock = Stopwatch(torch.device("cuda"))
    for step in range(SAMPLED + 1):
        timed(clock, tick, step)
    assert len(waits) == 2 * (1 + len(PHASES))
    assert clock.seconds["data"] == 2.0
