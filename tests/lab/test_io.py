"""Files are written whole or not at all; progress is a bar in a terminal, lines elsewhere."""

import errno
import io
import os

import pytest
from rich.console import Console

from softaug.lab.io import write_text
from softaug.lab.progress import progress


def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    file = write_text("old", tmp_path / "a.json")

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.json'"):
        write_text("new", file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_shown_with_rate_and_time_left(terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with progress(console, 100, "images") as show:
        for done, note in ((0, "0 of 2"), (20, "0 of 2"), (50, "1 of 2"), (100, "2 of 2")):
            show(done, note)
    text = out.getvalue()
    assert "2 of 2" in text
    assert "images/s" in text
    assert "left" in text
    if not terminal:
        first, second, third = text.splitlines()  # a line for each new note
        assert first == "0 of 2"
        assert "images/s" in second
        assert third.endswith(" 0 s left")
