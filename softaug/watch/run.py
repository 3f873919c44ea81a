"""One run: its state, how far it is, and what came out."""

from pathlib import Path
from typing import Any

from softaug.evaluation.result_files import EVALUATION
from softaug.evaluation.run import runs_in
from softaug.grid.state import DIVERGED, FAILURE, is_finished, state_of
from softaug.training.run_folder import LOCK, RESULT, is_held
from softaug.watch.course import Course
from softaug.watch.headline import Headline, of_evaluation, of_result
from softaug.watch.json_once import JsonOnce
from softaug.watch.planned import Planned

LONGEST_NOTE = 1000  # characters


class WatchedRun:
    """A run's folder, looked at again and again: what has not changed is not read again."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        folder = planned.folder
        self._evaluation = JsonOnce(folder / EVALUATION, of_evaluation)
        self._result = JsonOnce(folder / RESULT, of_result)
        self._told = {
            state: JsonOnce(folder / file, lambda told: str(told["message"]))
            for state, file in (("failed", FAILURE), ("diverged", DIVERGED))
        }
        self._courses: dict[Path, Course] = {}
        self.course = self._course(folder)  # of the network that is trained, or was last

    def look(self) -> dict[str, Any]:
        """What the page shows of it now."""
        planned = self.planned
        networks = runs_in(planned.folder)
        courses = [self._course(folder) for folder in networks]
        self.course = courses[-1]
        state, headline = self._state(networks), self._headline()
        return {
            "key": planned.key,
            "name": planned.name,
            "recipe": planned.recipe,
            "data": planned.data,
            "model": planned.model,
            "seed": planned.seed,
            "exhibits": planned.exhibits,
            "state": state,
            "note": self._note(state, len(networks)),
            "epoch": sum(course.epoch for course in courses),
            "epochs": planned.epochs * planned.networks,
            "epoch_seconds": self.course.epoch_seconds(),
            "wrote": self.course.tail.wrote,
            "rows": len(self.course.tail.rows),
            "life": self.life,
            "headline": headline,
            "so_far": self.course.so_far(),
        }

    @property
    def life(self) -> str:
        """Another one when the curve begins anew."""
        return f"{len(self._courses)}.{self.course.tail.life}"

    def _course(self, folder: Path) -> Course:
        course = self._courses.setdefault(folder, Course(folder))
        course.update()
        return course

    def _state(self, networks: list[Path]) -> str:
        if self._is_finished():
            return "finished"
        state = state_of(self.planned.folder)
        if state in ("begun", "waiting") and any(is_held(one / LOCK) for one in networks):
            return "running"  # by `softaug train`
        if state == "waiting":
            return "no data" if self.planned.no_data else self._not_begun()
        return state

    def _is_finished(self) -> bool:
        if self.planned.in_grid:
            return is_finished(self.planned.folder)
        return self._result.path.exists()

    def _not_begun(self) -> str:
        """What no grid plans is there because it was begun."""
        return "waiting" if self.planned.in_grid else "begun"

    def _headline(self) -> Headline | None:
        return self._evaluation.read() or self._result.read()

    def _note(self, state: str, networks: int) -> str:
        """What one should know beside the state, in words; empty where it says all."""
        if state in self._told:
            told = self._told[state]
            return _cut(told.read() or told.problem, told.path.name)
        if state == "no data":
            return self.planned.no_data
        if state == "waiting":
            return self.planned.cost
        parts = [self.course.warning, self._evaluation.problem or self._result.problem]
        if state != "finished" and self.planned.networks > 1:
            parts.append(f"network {networks} of {self.planned.networks}")
        elif state != "finished" and self._result.path.exists():
            parts.append("trained, not evaluated yet")
        return "; ".join(filter(None, parts))


def _cut(message: str, file: str) -> str:
    """A message that a table can hold."""
    if len(message) <= LONGEST_NOTE:
        return message
    return f"{message[:LONGEST_NOTE]} ... (all of it in {file})"
