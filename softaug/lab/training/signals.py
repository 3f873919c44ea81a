"""Stopping when asked to, between two steps."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C; what clusters and torchrun send


class Interruption:
    """Whether the user or the machine wants this process to stop."""

    asked = False


@contextmanager
def catch_signals() -> Iterator[Interruption]:
    """Note signals to stop; a second Ctrl-C acts at once.

    (Not under torchrun, which repeats to its processes the Ctrl-C that they had already.)
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption  # only the main thread may handle signals
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interruption.asked and number == signal.SIGINT and "RANK" not in os.environ:
            raise KeyboardInterrupt
        interruption.asked = True

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignore_sigint() -> Iterator[None]:
    """Have processes started inside ignore Ctrl-C: their parent gets it, and stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
