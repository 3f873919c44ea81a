"""Memory that files are read into."""

import threading
from pathlib import Path

import pytest

from softaug.lab.data import windows as file_memory
from softaug.lab.data.windows import FileBuffer as FileMemory


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(file_memory, "BLOCK", 100)
    for number, size in enumerate([40, 60, 1, 0, 250, 99]):
        (tmp_path / str(number)).write_bytes(bytes([number]) * size)
    return sorted(map(str, tmp_path.iterdir()))


def test_files_stay_as_they_are_until_memory_is_cleared(files):
    memory = FileMemory()
    for _ in range(2):
        memory.clear()
        read = [memory.read(path) for path in files]
        assert [bytes(data) for data in read] == [Path(path).read_bytes() for path in files]


def test_memory_is_used_again(files):
    memory = FileMemory()
    first = memory.read(files[0])
    memory.clear()
    memory.read(files[1])
    assert bytes(first) == bytes([1]) * 40


def test_each_thread_has_its_own(files):
    memory = FileMemory()
    first = memory.read(files[0])
    thread = threading.Thread(target=memory.read, args=(files[1],))
    thread.start()
    thread.join()
    assert bytes(first) == bytes(40)


def test_a_missing_file_takes_no_memory(files):
    memory = FileMemory()
    first = memory.read(files[0])
    with pytest.raises(FileNotFoundError):
        memory.read(files[0] + "-missing")
    assert bytes(memory.read(files[1])) == bytes([1]) * 60
    assert bytes(first) == bytes(40)
