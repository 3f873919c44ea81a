"""The page of a grid, index.html: states, failures, time left and the tables so far."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from softaug.lab.io import write_text
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.cost import format_duration
from softaug.lab.reproduce.plan import RUNS, Plan, PlannedRun, count_states
from softaug.lab.reproduce.run_one import DIVERGED, ENDED, LOG, read_failure

INDEX = "index.html"
RELOAD_SECONDS = 30
NUM_LINES = 12  # of the log of a run that failed
FORMATS = ("html", "md", "tex", "json", "png", "pdf")
_TEMPLATES = Environment(
    loader=PackageLoader("softaug.lab.reproduce"),
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
        runs = [self._describe_run(planned) for planned in self.plan.runs]
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
            tables=[self._describe_table(table.name) for table in self.plan.tables],
        )

    def _describe_run(self, planned: PlannedRun) -> dict[str, Any]:
        folder, state = planned.run.folder, planned.state
        return {
            "name": planned.run.name,
            "folder": f"{RUNS}/{planned.run.name}",
            "state": state,
            "error": self.collector.error_of(planned),
            "message": _read_message(folder) if state in ("failed", "diverged") else "",
            "last_lines": _read_last_lines(folder / LOG) if state in ("failed", "diverged") else "",
        }

    def _describe_table(self, name: str) -> dict[str, Any]:
        """Return what the page shows of a table: its file was written after the last run."""
        out = self.plan.out
        table = json.loads((out / f"{name}.json").read_text())
        files = [out / f"{name}.{kind}" for kind in FORMATS]
        pages = sorted(out.glob(f"compare/{name}-*/report.html"))
        columns = list(
            dict.fromkeys(_column(cell) for row in table["rows"] for cell in row["cells"])
        )
        has_paper = any(cell["paper"] for row in table["rows"] for cell in row["cells"])
        groups: dict[str, list[list[str]]] = {}
        for row in table["rows"]:
            texts = [_format_cell(column, row["cells"]) for column in columns]
            pairs = [pair if has_paper else pair[:1] for pair in texts]
            groups.setdefault(row["group"], []).append([row["label"], *chain(*pairs)])
        return {
            "name": name,
            "title": table["title"],
            "complete": table["complete"],
            "links": [str(file.relative_to(out)) for file in (*pages, *files) if file.exists()],
            "heads": list(chain(*((one, f"{one}, paper")[: 1 + has_paper] for one in columns))),
            "groups": groups,
        }


def _column(cell: Mapping[str, Any]) -> str:
    """Return the heading of the column that a cell stands in."""
    name = {"error": "error", "ece": "ECE", "probe_error": "error of the probe"}[cell["measure"]]
    return f"{name}, {cell['on']}, %" if cell["on"] else f"{name}, %"


def _format_cell(column: str, cells: list[dict[str, Any]]) -> tuple[str, str]:
    """Return our number and the paper's in a column; a state where there is none of ours."""
    cell = next((cell for cell in cells if _column(cell) == column), None)
    if cell is None:
        return "", ""
    ours, paper = cell["ours"], cell["paper"]
    return (
        f"{_format(ours['mean'], ours['se'])} (n = {ours['n']})" if ours else cell["state"],
        _format(paper["value"], paper["se"]) if paper and paper["value"] is not None else "",
    )


def _format(mean: float, se: float | None) -> str:
    return f"{mean:.2f}" if se is None else f"{mean:.2f} ± {se:.2f}"


def _read_message(folder: Path) -> str:
    failure = read_failure(folder)
    if failure is not None:
        return failure
    with suppress(FileNotFoundError):
        return str(json.loads((folder / DIVERGED).read_text())["message"])
    return ""  # it was started again just now


def _read_last_lines(log: Path) -> str:
    with suppress(FileNotFoundError):
        return "\n".join(log.read_text(errors="replace").splitlines()[-NUM_LINES:])
    return ""
