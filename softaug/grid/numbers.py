"""The numbers of finished runs, in % as the paper prints them."""

import json
import re
from pathlib import Path
from typing import Any

from softaug.evaluation.measure_list import level_key, set_key
from softaug.evaluation.result_files import EVALUATION
from softaug.grid.state import is_finished
from softaug.paper.exhibit import Cell

KEYS = {"error": "error", "probe_error": "error", "ece": "ece_10"}
_HIDDEN = re.compile(r"images (\d+) % hidden")


class Numbers:
    """What runs have measured; each file is read once, for a finished run does not change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[float, dict[str, float]]] = {}

    def value(self, folder: Path, cell: Cell) -> float | None:
        """The number of a cell from the run in `folder`; None where it has none (yet)."""
        measures = self._measures(folder)
        hidden = _HIDDEN.fullmatch(cell.on)
        if hidden:
            accuracy = measures.get(level_key("occlusion", int(hidden[1]) / 100))
            return None if accuracy is None else 100 - accuracy
        return measures.get(set_key(cell.on, "", KEYS[cell.measure]))

    def _measures(self, folder: Path) -> dict[str, float]:
        """By key; none of a run that is not finished."""
        if not is_finished(folder):
            return {}
        file = folder / EVALUATION
        written = file.stat().st_mtime  # it may be evaluated again, on more test sets
        if self._known.get(folder, (None,))[0] != written:
            self._known[folder] = written, _percents(json.loads(file.read_text()))
        return self._known[folder][1]


def _percents(evaluation: dict[str, Any]) -> dict[str, float]:
    return {
        measure["key"]: 100 * measure["value"]
        for measure in evaluation["measures"]
        if measure["percent"]
    }
