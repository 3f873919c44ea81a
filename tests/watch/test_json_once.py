import json
import os

import pytest

from softaug.watch.json_once import JsonOnce


@pytest.fixture
def file(tmp_path):
    return JsonOnce(tmp_path / "some.json", lambda content: content["a"])


def test_a_file_is_read_once_until_it_changes(file, monkeypatch):
    read = []
    monkeypatch.setattr(file, "_pick", lambda content: read.append(content) or len(read))
    file.path.write_text('{"a": 1}')
    assert [file.read(), file.read()] == [1, 1]
    file.path.write_text('{"a": 22}')
    assert [file.read(), file.read()] == [2, 2]


def test_a_change_of_the_same_size_is_seen(file):
    file.path.write_text('{"a": 1}')
    assert file.read() == 1
    before = file.version
    file.path.write_text('{"a": 2}')
    os.utime(file.path, ns=(1, 1))
    assert file.read() == 2
    assert file.version != before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"a": ', "cannot be read: Expecting value"),
        ("{}", "some.json has no 'a'"),
        ("[]", "cannot be read: list indices must be"),
        ("null", "cannot be read: 'NoneType'"),
        ("[" * 100_000, "cannot be read: maximum recursion"),
    ],
)
def test_what_cannot_be_read_says_why_and_may_be_mended(file, content, problem):
    file.path.write_text(content)
    assert file.read() is None
    assert problem in file.problem
    file.path.write_text(json.dumps({"a": "well"}))
    assert (file.read(), file.problem) == ("well", "")


def test_no_file_is_no_problem(file):
    assert (file.read(), file.problem, file.version) == (None, "", "")
    file.path.write_text("{}")
    file.read()
    file.path.unlink()
    assert (file.read(), file.problem, file.version) == (None, "", "")
