"""Curves of operations: values, files, refusals."""

import json

import numpy as np
import pytest
import torch

from softaug.transforms import curves as module
from softaug.transforms.curves import (
    SHIPPED,
    Curve,
    TableCurve,
    find_curves,
    read_curves,
    write_curves,
)

SOME = {
    "rotate": Curve("visible", 0.9, 2.0),
    "crop": Curve("visible", 1.0, (1.0, 2.0, 3.0)),
    "posterize": TableCurve("strength", (0.0, 0.3, 1.0), (1.0, 0.9, 0.2)),
}


def written(tmp_path, **changes):
    """A good file of one curve, with some keys changed."""
    good = {"schema": 1, "kind": "curves", "operations": {"rotate": {"of": "strength"}}}
    good["operations"]["rotate"] |= {"loss": 0.5, "k": 2}
    path = tmp_path / "curves.json"
    path.write_text(json.dumps(good | changes))
    return path


def test_a_curve_is_worked_by_hand():
    x = torch.tensor([0.0, 0.5, 1.0])
    assert Curve("strength", 0.8, 1.0)(x).tolist() == pytest.approx([1, 0.6, 0.2])
    assert Curve("strength", 0.8, 3.0)(x).tolist() == pytest.approx([1, 0.9, 0.2])
    assert Curve("strength", 0.0, 1.0)(x).tolist() == [1, 1, 1]


def test_one_k_for_each_class_reads_the_label():
    curve, x = Curve("strength", 1.0, (1.0, 2.0, 3.0)), torch.full((3, 2), 0.5)
    kept = curve(x, torch.tensor([2, 0, 1]))
    assert kept.tolist() == [[0.875, 0.875], [0.5, 0.5], [0.75, 0.75]]
    assert curve(x[:1], 2).tolist() == [[0.875, 0.875]]


def test_a_table_is_piecewise_linear():
    lost, kept = (0.0, 0.1, 0.5, 1.0), (1.0, 0.9, 0.9, 0.1)
    x = torch.linspace(0, 1, 101, dtype=torch.float64).view(1, 101)
    expected = torch.from_numpy(np.interp(x.numpy(), lost, kept))
    found = TableCurve("strength", lost, kept)(x)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_curves_come_back_from_a_file_by_path_or_by_name(tmp_path, monkeypatch):
    path = write_curves(tmp_path / "mine.json", SOME, {"data": "digits", "n": 3})
    assert json.loads(path.read_text())["about"] == {"data": "digits", "n": 3}
    assert find_curves("who", path) == find_curves("who", str(path)) == SOME
    assert read_curves(written(tmp_path)) == {"rotate": Curve("strength", 0.5, 2)}
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    monkeypatch.setattr(module, "SHIPPED", ("mine",))
    assert find_curves("who", "mine") == find_curves("who", SOME) == SOME


def test_every_shipped_file_is_read():
    assert all(find_curves("who", name) for name in ("naive", *SHIPPED))


TABLE_RULE = "lost must increase from 0 to 1, with one number of retained for each, got"
SETTINGS = [
    (lambda: Curve("stength", 1.0, 2.0), "of must be one of 'strength', 'visible', got 'stength'"),
    (lambda: Curve("strength", 1.5, 2.0), "Curve: loss must be a number in 0..1, got float 1.5"),
    (lambda: Curve("strength", 1.0, (1.0, -1.0)), "Curve: k must be > 0 and finite, got -1.0"),
    (lambda: Curve("strength", 1.0, ()), "k must be a number or one for each class, got none"),
    (lambda: Curve("strength", 1.0, [1.0]), "Curve: k must be a number > 0, got list [1.0]"),
    (
        lambda: SOME["crop"](torch.ones(2), torch.tensor([0, 3])),
        "k is for 3 classes, so labels must be in 0..2, got 3; give one k for each class",
    ),
    (lambda: SOME["crop"](torch.ones(2)), "one k for each class needs the labels, got none"),
    (
        lambda: TableCurve("strength", (0.0, 1.0), (0.5, 0.6)),
        "retained must not increase, got (0.5, 0.6); an operation that loses more",
    ),
    (lambda: TableCurve("strength", (0.0, 0.5, 0.5, 1.0), (1.0,) * 4), TABLE_RULE),
    (lambda: TableCurve("strength", (0.0, 0.9), (1.0, 0.5)), TABLE_RULE),
    (lambda: TableCurve("strength", (), ()), TABLE_RULE),
    (lambda: TableCurve("strength", (0.0, 1.0), (1.1, 0.5)), "of retained must be a number in 0.."),
    (lambda: TableCurve("strength", 0.5, (1.0, 0.5)), "lost must be a tuple of numbers, got float"),
    (lambda: find_curves("who", "niave"), "or a JSON file, got 'niave'; did you mean 'nai"),
    (lambda: find_curves("who", 3), "who: curves must be a name, a path or a mapping, got int 3"),
    (lambda: find_curves("who", {"rotate": 2.0}), "curve of 'rotate' must be a Curve or a TableC"),
    (lambda: find_curves("who", {"rotat": SOME["rotate"]}), "'rotat'; did you mean 'rotate'?"),
    (
        lambda: find_curves("who", {"color": SOME["rotate"]}),
        "curve of 'color' must be of its strength, got 'visible'; all of the image stays visible",
    ),
    (
        lambda: find_curves("who", SOME | {"rotate": Curve("visible", 1.0, (1.0, 2.0))}),
        "one k for each class must have equally many, got 2 for rotate, 3 for crop",
    ),
]


@pytest.mark.parametrize(("call", "message"), SETTINGS, ids=[m for _, m in SETTINGS])
def test_bad_curves_are_refused(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        call()
    assert message in str(caught.value)


INCREASING = {"of": "strength", "lost": [0, 1], "retained": [0, 1]}
FILES = [
    ({"schema": 2}, '"schema" and "kind" must be 1 and "curves", got 2 and \'curves\''),
    ({"kind": "table"}, "got 1 and 'table'"),
    ({"operations": [1]}, '"operations" must map names to curves, got list [1]'),
    ({"notes": "x"}, 'keys must be "schema", "kind", "operations" and "about", got list'),
    ({"operations": {"rotate": 2}}, '"of", "loss", "k" or "of", "lost", "retained", got int 2'),
    ({"operations": {"rotate": {"of": "strength", "k": 2}}}, '"lost", "retained", got k, of'),
    ({"operations": {"rotate": INCREASING}}, "rotate: TableCurve: retained must not increase"),
]


@pytest.mark.parametrize(("changes", "message"), FILES, ids=[m for _, m in FILES])
def test_bad_files_are_refused_by_name(tmp_path, changes, message):
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        read_curves(path)
    assert str(caught.value).startswith(f"curves in {path}: ")
    assert message in str(caught.value)


def test_files_that_are_missing_or_no_json_are_refused(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match="the file must be JSON, got Expecting property name"):
        read_curves(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="the file must be readable, got No such file"):
        read_curves(tmp_path / "none.json")
