"""Which files could not be read, counted over all processes."""

from collections.abc import Iterable

from softaug.training.processes import Processes


class SkippedFiles:
    """Every file that any process skipped, as "PATH: reason", with the first reason found."""

    def __init__(self, team: Processes) -> None:
        self.team = team
        self.files: list[str] = []
        self._lately: set[str] = set()  # in this process

    def __len__(self) -> int:
        return len(self.files)

    def note(self, files: Iterable[str]) -> None:
        """Remember what this process skipped."""
        self._lately.update(files)

    def share(self) -> list[str]:
        """What is new since the last time; all processes call this together."""
        parts, self._lately = self.team.collect(sorted(self._lately)), set()
        known, new = {*map(_path, self.files)}, []
        for file in sorted(file for part in parts for file in part):
            if _path(file) not in known:
                known.add(_path(file))
                new.append(file)
        self.files += new
        return new


def _path(file: str) -> str:
    return file.rpartition(": ")[0]
