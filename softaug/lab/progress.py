"""How far the work has come: a bar in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

Show = Callable[[int, str], None]


@contextmanager
def progress(console: Console, total: int, unit: str, before: int = 0) -> Iterator[Show]:
    """Yield `show(done, note)`, to be called as often as one likes.

    A bar has rate and time left. Without a terminal, each new note is a line. `before` was
    done already: it does not count for the rate.
    """
    if console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task("", total=total, completed=before, unit=unit, rate=0.0)
            started = time.monotonic()

            def draw(done: int, note: str) -> None:
                rate = (done - before) / max(time.monotonic() - started, 1e-9)
                bar.update(task, completed=done, description=note, rate=rate)

            yield draw
    else:
        yield _lines(console, total, unit, before)


def _bar(console: Console) -> Progress:
    rate = TextColumn("{task.fields[rate]:,.0f} {task.fields[unit]}/s")
    left = TimeRemainingColumn(compact=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        rate,
        left,
        TextColumn("left"),
        console=console,
    )


def _lines(console: Console, total: int, unit: str, before: int) -> Show:
    started, last = time.monotonic(), ""

    def write(done: int, note: str) -> None:
        nonlocal last
        if note == last:
            return
        last = note
        rate = (done - before) / max(time.monotonic() - started, 1e-9)
        left = f", {rate:,.0f} {unit}/s, {(total - done) / rate:.0f} s left" if rate else ""
        console.print(f"{note}{left}", soft_wrap=True, markup=False, highlight=False)

    return write
