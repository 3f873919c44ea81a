import json
import os

import pytest

from softaug.watch.tail import Tail


def lines(*numbers):
    return "".join(json.dumps({"epoch": number}) + "\n" for number in numbers)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def epochs(tail):
    tail.update()
    return [row["epoch"] for row in tail.rows]


def add(path, text):
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_followed_as_it_grows(path):
    tail = Tail(path)
    assert epochs(tail) == []
    path.write_text(lines(1, 2))
    assert epochs(tail) == [1, 2]
    add(path, lines(3))
    assert epochs(tail) == [1, 2, 3]
    assert tail.life == 0
    assert tail.wrote == path.stat().st_mtime


def test_only_what_was_added_is_read(path, monkeypatch):
    path.write_text(lines(*range(1000)))
    tail, parsed = Tail(path), []
    monkeypatch.setattr(
        "softaug.watch.tail._parsed", lambda line: parsed.append(line) or {"epoch": 0}
    )
    tail.update()
    assert len(parsed) == 1000
    add(path, lines(1000))
    tail.update()
    tail.update()
    assert len(parsed) == 1001


@pytest.mark.parametrize("cut", range(1, len(lines(12))))
def test_a_half_written_line_waits_for_its_end(path, cut):
    text = lines(12)
    path.write_text(lines(11) + text[:cut])
    tail = Tail(path)
    assert epochs(tail) == [11]
    add(path, text[cut:])
    assert epochs(tail) == [11, 12]
    assert tail.life == 0


def test_lines_that_are_no_objects_are_left_out(path):
    path.write_text(
        lines(1) + "nonsense\n[2]\n\n\udc80\n".encode(errors="replace").decode() + lines(3)
    )
    assert epochs(Tail(path)) == [1, 3]


@pytest.mark.parametrize("after", [lines(1), lines(1, 5, 6, 7), lines(8, 9, 10), ""])
def test_a_run_that_begins_again_is_read_from_the_start(path, after):
    path.write_text(lines(1, 2, 3))
    tail = Tail(path)
    assert epochs(tail) == [1, 2, 3]
    path.write_text(after)  # cut in place
    assert epochs(tail) == [json.loads(line)["epoch"] for line in after.splitlines()]
    assert tail.life == 1


def test_a_file_that_is_replaced_is_read_from_the_start(path):
    path.write_text(lines(1, 2, 3))
    tail = Tail(path)
    tail.update()
    other = path.with_name("other")
    other.write_text(lines(1, 2))
    os.replace(other, path)
    assert epochs(tail) == [1, 2]
    assert tail.life == 1


def test_a_file_that_vanishes_leaves_nothing(path):
    path.write_text(lines(1))
    tail = Tail(path)
    tail.update()
    path.unlink()
    assert epochs(tail) == []
    assert epochs(tail) == []
    assert tail.life == 1
    assert tail.wrote is None
