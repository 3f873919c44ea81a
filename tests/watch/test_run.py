import pytest
from filelock import FileLock
from hand_made import add_rows, entry, grid, recipe, row, write

from softaug.grid.state import LOCK
from softaug.training.run_folder import locked
from softaug.watch.planned import of_grid, of_recipe
from softaug.watch.run import WatchedRun

RESULT = {"split": "test", "error": 0.25}
EVALUATION = {"split": "test", "sets": {"test": {"error": 0.125}}}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs/a-seed0"


@pytest.fixture
def in_grid(tmp_path):
    def made(**more):
        return WatchedRun(of_grid(grid(entry("a-seed0", **more)), tmp_path).runs[0])

    return made


def test_a_run_of_a_grid_goes_from_waiting_to_finished(folder, in_grid):
    run = in_grid()
    assert (run.look()["state"], run.look()["note"]) == ("waiting", "about 5 seconds")
    with locked(folder):
        assert run.look()["state"] == "running"
        add_rows(folder, row(1, test_error=0.5))
        look = run.look()
        assert (look["state"], look["epoch"], look["epochs"]) == ("running", 1, 4)
        assert (look["epoch_seconds"], look["so_far"], look["headline"]) == (2.0, 0.5, None)
    assert run.look()["state"] == "begun"
    write(RESULT, folder / "result.json")
    assert (run.look()["state"], run.look()["note"]) == ("begun", "trained, not evaluated yet")
    with FileLock(folder / LOCK):
        assert run.look()["state"] == "running"
    write(EVALUATION, folder / "evaluation.json")
    assert (run.look()["state"], run.look()["note"]) == ("finished", "")
    assert run.look()["headline"] == (0.125, "test error")


def test_a_failed_run_says_why_until_it_begins_again(folder, in_grid):
    run = in_grid()
    write({"message": "train: no memory", "when": "now"}, folder / "failure.json")
    assert (run.look()["state"], run.look()["note"]) == ("failed", "train: no memory")
    write({"message": "x" * 5000}, folder / "failure.json")
    assert len(run.look()["note"]) < 1100
    (folder / "failure.json").write_text("half")
    assert "failure.json cannot be read" in run.look()["note"]
    (folder / "failure.json").unlink()
    assert run.look()["state"] == "waiting"


def test_a_run_that_diverged_says_how(folder, in_grid):
    write({"message": "got nan at step 3"}, folder / "diverged.json")
    look = in_grid().look()
    assert (look["state"], look["note"]) == ("diverged", "got nan at step 3")


def test_a_run_without_data_says_so_until_it_has_begun(folder, in_grid):
    run = in_grid(no_data="`softaug data cifar10` fetches it")
    assert run.look()["state"] == "no data"
    assert run.look()["note"] == "`softaug data cifar10` fetches it"
    add_rows(folder, row(1))
    assert run.look()["state"] == "begun"


def test_the_networks_of_an_ensemble_are_counted_together(folder, in_grid):
    run = in_grid(members=3)
    add_rows(folder / "member-seed0", *map(row, (1, 2, 3, 4)))
    first = run.look()
    add_rows(folder / "member-seed1", row(1))
    with locked(folder / "member-seed1"):
        second = run.look()
    assert (second["state"], second["epoch"], second["epochs"]) == ("running", 5, 12)
    assert (second["rows"], second["note"]) == (1, "network 2 of 3")
    assert first["life"] != second["life"]


def test_a_run_of_no_grid_is_finished_when_it_is_trained(tmp_path):
    run = WatchedRun(of_recipe(recipe("soft"), tmp_path, tmp_path))
    write(recipe("soft"), tmp_path / "recipe.json")
    assert run.look()["state"] == "begun"
    write({"split": "test", "knn_error": 0.5}, tmp_path / "result.json")
    assert run.look()["state"] == "finished"
    assert run.look()["headline"] == (0.5, "test error of nearest neighbours")
    write(EVALUATION | {"features": {}}, tmp_path / "evaluation.json")
    assert run.look()["headline"] == (0.125, "linear probe, test error")


@pytest.mark.parametrize("broken", [{}, {"split": "test", "error": float("nan")}, []])
def test_a_result_that_cannot_be_read_is_told(tmp_path, broken):
    run = WatchedRun(of_recipe(recipe("soft"), tmp_path, tmp_path))
    write(broken, tmp_path / "result.json")
    look = run.look()
    assert (look["state"], look["headline"]) == ("finished", None)
    assert "result.json" in look["note"]


def test_a_warning_is_told_with_the_state(folder, in_grid):
    add_rows(folder, row(1, warning="the network collapses"))
    assert in_grid().look()["note"] == "the network collapses"
