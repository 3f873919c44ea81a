import shutil

from hand_made import add_rows, entry, grid, recipe, row, write

from softaug.watch.folder import Wanted, WatchedFolder

KEY = "runs/a-seed0"


def states(watched):
    return {run["name"]: run["state"] for run in watched.look()["runs"]}


def curve(watched, life="", num=0):
    return watched.curves([Wanted(KEY, life, num)])[0]


def test_an_empty_folder_has_no_runs_yet_and_then_some(tmp_path):
    watched = WatchedFolder(tmp_path)
    assert watched.look() == {"runs": [], "scale": "", "exhibits": [], "problem": ""}
    write(recipe("soft"), tmp_path / "b/recipe.json")
    assert states(watched) == {"b": "begun"}
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    assert states(watched) == {"a-seed0": "waiting"}
    assert watched.look()["scale"] == "smoke"


def test_a_grid_that_cannot_be_read_is_told_and_its_runs_are_found(tmp_path):
    write(recipe("soft"), tmp_path / "runs/b/recipe.json")
    (tmp_path / "grid.json").write_text('{"runs": [{}]')
    watched = WatchedFolder(tmp_path)
    assert states(watched) == {"runs/b": "begun"}
    assert "grid.json cannot be read" in watched.look()["problem"]


def test_a_recipe_that_cannot_be_read_is_told(tmp_path):
    write({"name": "soft"}, tmp_path / "b/recipe.json")
    watched = WatchedFolder(tmp_path)
    assert states(watched) == {}
    assert watched.look()["problem"] == "b/recipe.json has no 'data'"


def test_a_folder_that_vanishes_is_told(tmp_path):
    write(recipe("soft"), tmp_path / "in/b/recipe.json")
    watched = WatchedFolder(tmp_path / "in")
    assert states(watched) == {"b": "begun"}
    shutil.rmtree(tmp_path / "in")
    assert watched.look()["runs"] == []
    assert "not there any more" in watched.look()["problem"]


def test_a_curve_is_told_from_where_the_page_has_it(tmp_path):
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    add_rows(tmp_path / KEY, row(1), row(2, test_error=0.25))
    watched = WatchedFolder(tmp_path)
    life = watched.look()["runs"][0]["life"]
    whole = curve(watched)
    assert (whole["after"], whole["epochs"], whole["loss"]) == (0, [1, 2], [2.0, 1.0])
    assert (whole["error"], whole["measure"]) == ([None, 0.25], "test error")
    add_rows(tmp_path / KEY, row(4))
    assert watched.look()["runs"][0]["rows"] == 3
    new = curve(watched, life, 2)
    assert (new["life"], new["after"], new["epochs"], new["loss"]) == (life, 2, [4], [0.5])


def test_a_curve_that_began_anew_is_told_from_its_start(tmp_path):
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    add_rows(tmp_path / KEY, row(1), row(2))
    watched = WatchedFolder(tmp_path)
    life = watched.look()["runs"][0]["life"]
    (tmp_path / KEY / "metrics.jsonl").unlink()
    add_rows(tmp_path / KEY, row(1), row(2, train_loss=3.0), row(3))
    assert watched.look()["runs"][0]["life"] != life
    assert (curve(watched, life, 2)["after"], curve(watched, life, 2)["epochs"]) == (0, [1, 2, 3])
    assert WatchedFolder(tmp_path).look()["runs"][0]["life"] != watched.look()["runs"][0]["life"]


def test_more_than_there_is_and_unknown_runs_are_no_error(tmp_path):
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    add_rows(tmp_path / KEY, row(1))
    watched = WatchedFolder(tmp_path)
    life = watched.look()["runs"][0]["life"]
    assert curve(watched, life, 99)["epochs"] == [1]
    assert watched.curves([Wanted("../other", "", 0)]) == []
