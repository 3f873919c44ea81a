"""Writing files: whole or not at all, and a failure says which."""

import errno
import os

import pytest

from softaug.lab.io import write_text


def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    file = write_text("old", tmp_path / "a.json")

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.json'"):
        write_text("new", file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
