from hand_made import table, write

from softaug.watch.exhibits import WatchedExhibits


def test_a_table_is_shown_as_far_as_it_is(tmp_path):
    exhibits = WatchedExhibits(tmp_path)
    before = exhibits.look(["table1"])[0]
    assert (before["title"], before["state"]) == ("", "nothing collected yet")
    assert exhibits.shown("table1") is None
    write(table(20.0, 22.0), tmp_path / "table1.json")
    now = exhibits.look(["table1"])[0]
    assert (now["title"], now["state"]) == ("Errors", "partial: 2 of 3 runs")
    line = exhibits.shown("table1")["sections"][0]["lines"][0]
    assert (line["label"], line["paper"]) == ("Soft Augmentation", "18.31 ± 0.17")
    assert (line["ours"], line["runs"]) == ("21.00 (partial)", "2 of 3")


def test_a_study_of_ours_is_shown_without_columns_for_the_paper(tmp_path):
    study = table(20.0) | {"name": "budgets"}
    study["rows"][0]["cells"][0]["paper"] = None
    write(study | {"panels": []}, tmp_path / "budgets.json")
    exhibits = WatchedExhibits(tmp_path)
    assert [one["name"] for one in exhibits.look(["budgets"])] == ["budgets"]
    shown = exhibits.shown("budgets")
    assert shown["heads"] == ("Row", "Ours", "Runs", "Gain over baseline")
    assert [column["field"] for column in shown["columns"]] == ["ours", "runs", "our_gain"]


def test_what_must_be_known_first_is_shown_with_the_table(tmp_path):
    write(table(20.0) | {"scale": "cpu"}, tmp_path / "table1.json")
    partial, scale = WatchedExhibits(tmp_path).shown("table1")["cautions"]
    assert partial == "Partial: 1 of 3 runs."
    assert "not like for like" in scale


def test_a_table_that_changes_has_another_version(tmp_path):
    exhibits = WatchedExhibits(tmp_path)
    write(table(20.0), tmp_path / "table1.json")
    before = exhibits.look([])[0]["version"]
    write(table(20.0, 22.0, 24.0, complete=True), tmp_path / "table1.json")
    after = exhibits.look([])[0]
    assert after["version"] != before
    assert after["state"] == "complete"


def test_a_table_that_cannot_be_read_says_why(tmp_path):
    write(table(20.0) | {"rows": 3}, tmp_path / "table1.json")
    found = WatchedExhibits(tmp_path).look(["table1"])[0]
    assert "rows must be a list" in found["state"]


def test_only_exhibits_are_read(tmp_path):
    write(table(20.0), tmp_path / "secret.json")
    write(table(20.0), tmp_path / "in/table1.json")
    (tmp_path / "secret.html").write_text("no")
    exhibits = WatchedExhibits(tmp_path)
    assert exhibits.look(["secret", "../table1"]) == []
    for name in ("secret", "in/table1", "../in/table1", "table1\n", ""):
        assert exhibits.shown(name) is None
        assert exhibits.page(name) is None
