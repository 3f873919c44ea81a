from softaug.lab.training.distributed import DistContext
from softaug.lab.training.trainer import SkippedFiles


class WithAnother(DistContext):
    """A team whose other process has skipped b and c."""

    def all_gather_object(self, message):
        return [message, ["b: cut", "c: cut"]]


def test_files_of_all_processes_are_told_once():
    skipped = SkippedFiles(WithAnother(0, 2, None))
    skipped.note(["c: cut", "a: cut"])
    skipped.note(["a: cut"])
    assert skipped.share() == ["a: cut", "b: cut", "c: cut"]
    skipped.note(["a: another reason", "d: empty"])
    assert skipped.share() == ["d: empty"]
    assert (skipped.files[-1], len(skipped)) == ("d: empty", 4)
