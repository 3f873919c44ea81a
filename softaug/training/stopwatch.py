"""Where the time of training goes."""

import time

import torch

PHASES = ("data", "augment", "forward", "backward", "optimiser")
SAMPLED = 20  # on an accelerator, one step in this many is waited for and timed


class Stopwatch:
    """Seconds spent in each phase of the steps.

    `start(step)`, then `lap(phase)` at the end of each phase. A CPU is timed in every step;
    an accelerator works on while Python goes ahead, so there one step in 20 is timed, waiting
    for the device at the end of each phase.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._running = False
        self._last = 0.0

    def start(self, step: int) -> None:
        """Begin a step."""
        self._running = self.device.type == "cpu" or step % SAMPLED == 0
        self._last = self._now() if self._running else 0.0

    def lap(self, phase: str) -> None:
        """The time since the last lap was spent in `phase`."""
        if self._running:
            now = self._now()
            self.seconds[phase] += now - self._last
            self._last = now

    def shares(self) -> dict[str, float]:
        """What part of the timed steps each phase took; all 0 if none was timed."""
        total = sum(self.seconds.values())
        return {phase: used / total if total else 0.0 for phase, used in self.seconds.items()}

    def _now(self) -> float:
        if self.device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter()
