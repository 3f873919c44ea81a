"""The page of a grid, index.html: states, failures, time left and the tables so far."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from softaug.lab.io import read_json, write_text
from softaug.lab.recipes.paper_numbers import spread
from softaug.lab.report.style import PAGE, SERIES
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.cost import format_duration
from softaug.lab.reproduce.plan import RUNS, Plan
from softaug.lab.reproduce.run_one import (
    DIVERGED,
    ENDED,
    FAILURE,
    LOG,
    GridRun,
    count_states,
    read_message,
)

INDEX = "index.html"
RELOAD_SECONDS = 30
NUM_LINES = 12  # of the log of a run that failed
MAX_OPEN = 14  # rows: a longer table is folded
FORMATS = ("html", "md", "tex", "json", "png", "pdf")
_TEMPLATES = Environment(
    loader=ChoiceLoader(
        [PackageLoader("softaug.lab.reproduce"), PackageLoader("softaug.lab.report")]
    ),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)


class StatusPage:
    """Writes index.html of a grid's folder; while runs are at work it reloads itself."""

    def __init__(self, plan: Plan, collector: Collector) -> None:
        self.plan, self.collector = plan, collector
        self._lock = threading.Lock()

    def write(self, seconds_left: float | None = None, *, live: bool) -> Path:
        """Write the page as of now; `live` says whether a command is at work."""
        with self._lock:
            return write_text(self.render(seconds_left, live=live), self.plan.out / INDEX)

    @contextmanager
    def keep_updated(self, seconds_left: Callable[[], float | None]) -> Iterator[None]:
        """Write the page again and again in a thread, so that it shows what is running."""
        stop = threading.Event()

        def update() -> None:
            while not stop.wait(RELOAD_SECONDS):
                with suppress(OSError):  # the command itself will say so
                    self.write(seconds_left(), live=True)

        thread = threading.Thread(target=update, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def render(self, seconds_left: float | None, *, live: bool) -> str:
        """Return the page as text."""
        runs = [self._describe_run(run) for run in self.plan.runs]
        counts = count_states(self.plan.runs)
        names = ", ".join(table.name for table in self.plan.tables)
        return _TEMPLATES.get_template("status.html").render(
            title=f"{names} at scale {self.plan.scale}",
            seconds=RELOAD_SECONDS if live else 0,
            left=None if seconds_left is None else format_duration(seconds_left),
            time=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %Z"),
            runs=runs,
            counts=counts,
            num_ended=sum(counts.get(state, 0) for state in ENDED),
            failed=[run for run in runs if run["state"] == "failed"],
            diverged=[run for run in runs if run["state"] == "diverged"],
            tables=[self._read_table(table.name) for table in self.plan.tables],
            spread=spread,
            most_open=MAX_OPEN,
            colors=(*PAGE, *SERIES),
        )

    def _describe_run(self, run: GridRun) -> dict[str, Any]:
        state = run.state
        file = {"failed": FAILURE, "diverged": DIVERGED}.get(state)
        return {
            "name": run.name,
            "folder": f"{RUNS}/{run.name}",
            "state": state,
            "error": self.collector.error_of(run),
            "message": (file and read_message(run.folder, file)) or "",
            "last_lines": _read_last_lines(run.folder / LOG) if file else "",
        }

    def _read_table(self, name: str) -> dict[str, Any]:
        """Return a table's file, written after the last run, and what else there is of it."""
        out = self.plan.out
        table: dict[str, Any] = read_json(out / f"{name}.json", "reproduce")
        cells = [cell for row in table["rows"] for cell in row["cells"]]
        pages = sorted(out.glob(f"compare/{name}-*/report.html"))
        drawn = [page.parent / "figures" / "headline.png" for page in pages]
        files = [out / f"{name}.{kind}" for kind in FORMATS]
        there = {"pages": pages, "pictures": [*drawn, out / f"{name}.png"], "links": files}
        return {
            **table,
            "has_paper": any(cell["paper"] for cell in cells),
            **{
                key: [str(file.relative_to(out)) for file in every if file.exists()]
                for key, every in there.items()
            },
        }


def _read_last_lines(log: Path) -> str:
    with suppress(FileNotFoundError):
        return "\n".join(log.read_text(errors="replace").splitlines()[-NUM_LINES:])
    return ""
