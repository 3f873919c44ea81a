"""The tables and figures of a grid, as far as they are collected."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from softaug.paper.exhibits import exhibits
from softaug.report.exhibits.progress import unfinished
from softaug.report.exhibits.reading import check_exhibit
from softaug.report.exhibits.sheet import sheet
from softaug.watch.json_once import JsonOnce

NAMES = frozenset(exhibit.name for exhibit in exhibits())  # no other file is read


class WatchedExhibits:
    """The files of tables, figures and studies in a grid's folder, such as table1.json."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, JsonOnce[dict[str, Any]]] = {}

    def look(self, planned: Sequence[str]) -> list[dict[str, Any]]:
        """Name, title and state of those that are planned or there."""
        names = dict.fromkeys([*filter(NAMES.__contains__, planned), *sorted(self._there())])
        return [self._summary(name) for name in names]

    def shown(self, name: str) -> dict[str, Any] | None:
        """All that the page shows of an exhibit; None where it is not there."""
        file = self._file(name)
        return None if file is None else file.read()

    def page(self, name: str) -> bytes | None:
        """The page of an exhibit, where one was written."""
        try:
            return (self._root / f"{name}.html").read_bytes() if name in NAMES else None
        except OSError:
            return None

    def _summary(self, name: str) -> dict[str, Any]:
        file = self._file(name)
        assert file is not None, "names were checked"
        found = file.read() or {"title": "", "state": file.problem or "nothing collected yet"}
        page = (self._root / f"{name}.html").is_file()
        kept = {key: found[key] for key in ("title", "state")}
        return {"name": name, **kept, "version": file.version, "page": page}

    def _file(self, name: str) -> JsonOnce[dict[str, Any]] | None:
        if name not in NAMES:
            return None
        file = JsonOnce(self._root / f"{name}.json", self._picked)
        return self._files.setdefault(name, file)

    def _there(self) -> Iterator[str]:
        found = (path.stem for path in self._root.glob("*.json"))
        return filter(NAMES.__contains__, found)

    def _picked(self, content: Any) -> dict[str, Any]:
        exhibit = check_exhibit(content)
        mark = unfinished(exhibit, self._root)
        found = sheet(exhibit, mark)
        return {
            "title": exhibit["title"],
            "state": mark or "complete",
            "heads": found.heads,
            **asdict(found),
        }
