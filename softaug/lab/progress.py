"""How far the work has come: a bar in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

Show = Callable[[int, str], None]


def print_plain(console: Console, text: str) -> None:
    """Print text as it is: "[red]" in the name of a folder is no color."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


@contextmanager
def progress(console: Console, total: int, unit: str, before: int = 0) -> Iterator[Show]:
    """Yield `show(done, note)`, which may be called at any rate.

    A bar has rate and time left. Without a terminal, each new note is a line. `before` was
    done already: it does not count for the rate.
    """
    started, last = time.monotonic(), ""

    def rate(done: int) -> float:
        return (done - before) / max(time.monotonic() - started, 1e-9)

    def write(done: int, note: str) -> None:
        nonlocal last
        if note == last:
            return
        last = note
        speed = rate(done)
        left = f", {speed:,.0f} {unit}/s, {(total - done) / speed:.0f} s left" if speed else ""
        print_plain(console, f"{note}{left}")

    if not console.is_terminal:
        yield write
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]:,.0f} {task.fields[unit]}/s"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total, completed=before, unit=unit, rate=0.0)
        yield lambda done, note: bar.update(task, completed=done, description=note, rate=rate(done))
