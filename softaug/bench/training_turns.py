"""Loops that take turns, by CPU time and by wall time."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from softaug.bench.timing import Timing, one_thread


class Cost(NamedTuple):
    """Seconds of one step: of this process's CPU, and by the clock on the wall."""

    cpu: float
    wall: float


Stretch = Callable[[], Cost]


class Turns(NamedTuple):
    """All rounds by each clock."""

    cpu: Timing
    wall: Timing


def timed(step: Callable[[], object], num: int) -> Cost:
    """The mean cost of `num` steps."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(num):
        step()
    return Cost((time.process_time() - cpu) / num, (time.perf_counter() - wall) / num)


def take_turns(stretches: Mapping[str, Stretch], rounds: int) -> Turns:
    """Every stretch once in every round, with one thread; steps before them warm up."""
    costs: dict[str, list[Cost]] = {name: [] for name in stretches}
    with one_thread():
        for _ in range(rounds):
            for name, stretch in stretches.items():
                costs[name].append(stretch())
    cpu = {name: [cost.cpu for cost in found] for name, found in costs.items()}
    wall = {name: [cost.wall for cost in found] for name, found in costs.items()}
    return Turns(Timing(cpu), Timing(wall))
