"""A line for each run that ends: how, how many are left, and for how long."""

import time

from rich.console import Console

from softaug.grid.run import Outcome


class Telling:
    """Counts the runs of a grid as they end."""

    def __init__(self, total: int, console: Console) -> None:
        self.total, self.console = total, console
        self.done = 0
        self._begun = time.monotonic()

    def tell(self, outcome: Outcome, error: float | None) -> None:
        """Say how a run ended; `error` is its headline number, in %."""
        self.done += 1
        line = f"{self.done} of {self.total}  {outcome.name}: {_how(outcome, error)}{self._left()}"
        self.console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _left(self) -> str:
        left = self.total - self.done
        if not left:
            return ""
        return f"; about {duration((time.monotonic() - self._begun) / self.done * left)} left"


def _how(outcome: Outcome, error: float | None) -> str:
    if outcome.error is not None:
        return f"FAILED: {outcome.error}"
    if outcome.diverged is not None:
        return f"DIVERGED: {outcome.diverged}"
    if outcome.stopped:
        return "stopped"
    return "finished" if error is None else f"finished, error {error:.2f} %"


def duration(seconds: float) -> str:
    """A time as one speaks of it.

    >>> duration(42.4), duration(600), duration(10_000), duration(200_000)
    ('42 s', '10 min', '2.8 h', '2.3 days')
    """
    for unit, length, digits in (("days", 86400, 1), ("h", 3600, 1), ("min", 60, 0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
