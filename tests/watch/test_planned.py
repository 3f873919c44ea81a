import os
from pathlib import Path

import pytest
from hand_made import entry, grid, recipe, write

from softaug.watch.planned import of_grid, of_recipe, run_folders


def test_a_grid_names_its_runs(tmp_path):
    found = of_grid(grid(entry("a-seed0", members=5, no_data="get it"), entry("b-seed0")), tmp_path)
    first, second = found.runs
    assert (found.scale, found.exhibits) == ("smoke", ("table1",))
    assert (first.key, first.folder) == ("runs/a-seed0", tmp_path / "runs/a-seed0")
    assert (first.networks, first.no_data, second.no_data) == (5, "get it", "")
    assert (second.name, second.recipe, second.exhibits) == ("b-seed0", "b", ("table1",))


@pytest.mark.parametrize("place", ["/etc", "../other", "runs/../../other"])
def test_a_grid_names_no_folder_outside(tmp_path, place):
    with pytest.raises(ValueError, match="the folder of a run must be inside, got"):
        of_grid(grid(entry("a-seed0", folder=place)), tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_we_may_not_look_into_has_no_runs(tmp_path):
    write(recipe("x"), tmp_path / "ours/recipe.json")
    (tmp_path / "closed").mkdir(mode=0)
    assert list(run_folders(tmp_path)) == [tmp_path / "ours"]


def test_a_folder_is_searched_for_runs_to_a_depth(tmp_path):
    for place in ("cpu/runs/a-seed10", "cpu/runs/a-seed9", "b", "b/inside", ".c", "1/2/3/4/deep"):
        write(recipe("x"), tmp_path / place / "recipe.json")
    found = [str(folder.relative_to(tmp_path)) for folder in run_folders(tmp_path)]
    assert found == ["b", "cpu/runs/a-seed9", "cpu/runs/a-seed10"]


def test_a_folder_that_is_not_there_has_no_runs(tmp_path):
    assert list(run_folders(tmp_path / "gone")) == []


def test_a_run_is_called_by_its_place(tmp_path):
    inner = of_recipe(recipe("soft"), tmp_path / "runs/soft-1", tmp_path)
    assert (inner.key, inner.name, inner.recipe) == ("runs/soft-1", "runs/soft-1", "soft")
    itself = of_recipe(recipe("soft"), tmp_path, tmp_path)
    assert (itself.key, itself.name) == (".", tmp_path.name)
    assert of_recipe(recipe("soft"), Path(), Path()).name == Path.cwd().name
