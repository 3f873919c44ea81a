from softaug.training.processes import Processes
from softaug.training.skipped import SkippedFiles


class WithAnother(Processes):
    """A team whose other process has skipped b and c."""

    def collect(self, message):
        return [message, ["b", "c"]]


def test_files_of_all_processes_are_told_once():
    skipped = SkippedFiles(WithAnother(0, 2, None))
    skipped.note(["c", "a"])
    skipped.note(["a"])
    assert skipped.share() == ["a", "b", "c"]
    skipped.note(["a", "d"])
    assert skipped.share() == ["d"]
    assert (skipped.files, len(skipped)) == (["a", "b", "c", "d"], 4)
