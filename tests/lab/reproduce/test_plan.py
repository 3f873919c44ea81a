"""Exhibits become runs: each once, by every seed, with what it costs."""

import pytest
from fake_runs import planned, read

from softaug.lab.recipes import find, paper_figures
from softaug.lab.recipes.scale import SCALES, at_scale
from softaug.lab.reproduce.cost import cost_in_words, cpu_minutes
from softaug.lab.reproduce.plan import needs_digits, num_members, write_digits, write_grid


def test_runs_that_several_exhibits_need_are_planned_once(tmp_path):
    plan = planned(tmp_path, "table1", "table6", seeds=2)
    names = [one.run.name for one in plan.runs]
    assert len(set(names)) == len(names) == 2 * (10 + 5)
    assert plan.exhibits_of(plan.runs[0].run.recipe) == ["table1", "table6"]


def test_each_run_has_its_seed_and_a_folder_of_its_name(tmp_path):
    plan = planned(tmp_path, "table9", seeds=3)
    assert [one.run.recipe.seed for one in plan.runs[:4]] == [0, 1, 2, 0]
    for one in plan.runs:
        assert one.run.name == f"{one.run.recipe.name}-seed{one.run.recipe.seed}"
        assert one.run.folder == tmp_path / "runs" / one.run.name


@pytest.mark.parametrize("scale", SCALES)
def test_every_run_of_all_exhibits_has_a_name_of_its_own_and_a_cost(tmp_path, scale):
    plan = planned(tmp_path, "all", scale=scale)
    assert len({one.run.name for one in plan.runs}) == len(plan.runs)
    assert all(one.cost for one in plan.runs)


def test_grid_json_says_all_of_each_run(tmp_path):
    grid = read(write_grid(planned(tmp_path, "table3")))
    assert (grid["schema"], grid["scale"], grid["exhibits"]) == (1, "smoke", ["table3"])
    assert grid["seeds"] == [0]
    ensemble, *_ = grid["runs"]
    assert ensemble == {
        "name": "smoke-cifar100-wrn28-10-ensemble-seed0",
        "recipe": "smoke-cifar100-wrn28-10-ensemble",
        "data": "digits",
        "model": "resnet8",
        "seed": 0,
        "folder": "runs/smoke-cifar100-wrn28-10-ensemble-seed0",
        "epochs": 1,
        "members": 2,
        "exhibits": ["table3"],
        "cost": ensemble["cost"],
        "no_data": None,
    }


def test_what_is_missing_is_told_with_how_to_get_it(tmp_path):
    plan = planned(tmp_path, "table1", "table7", scale="paper")
    reasons = {one.run.recipe.data.name: one.no_data for one in plan.runs}
    assert "`softaug data cifar100" in reasons["cifar100"]
    assert "https://image-net.org" in reasons["imagenet"]


def test_digits_take_the_place_of_photographs_that_are_missing(tmp_path):
    plan = planned(tmp_path, "table7")
    recipes = [one.run.recipe for one in plan.runs]
    assert {recipe.data.name for recipe in recipes} == {f"folder:{tmp_path / 'digits-as-files'}"}
    assert all(one.no_data is None for one in plan.runs)
    assert needs_digits(recipes, tmp_path)
    write_digits(tmp_path)
    assert len(list(tmp_path.rglob("val/*/*.png"))) == 40


def test_photographs_are_taken_where_they_are(tmp_path):
    (tmp_path / "no-data" / "imagenette").mkdir(parents=True)
    plan = planned(tmp_path, "table7")
    assert {one.run.recipe.data.name for one in plan.runs} == {"imagenette"}
    assert "imagenette" in plan.runs[0].no_data  # it is empty


def test_the_paper_s_cost_is_the_catalogue_s_and_cpu_s_is_counted():
    entry = find("cifar100-resnet18-soft")
    assert cost_in_words(entry.recipe.name, entry.recipe, "paper") == entry.cost
    small = at_scale(entry.recipe, "cpu")  # 10,000 images, 40 epochs, 900 a second
    assert cpu_minutes(small) == pytest.approx(10_000 * 40 / 900 / 60 + 0.7)
    five = at_scale(find("cifar100-wrn28-10-ensemble").recipe, "cpu")
    assert cpu_minutes(five) == pytest.approx(5 * cpu_minutes(small))


def test_no_network_at_the_cpu_scale_takes_more_than_17_minutes(tmp_path):
    runs = planned(
        tmp_path, *(exhibit.name for exhibit in paper_figures.all_tables()), scale="cpu"
    ).runs
    assert max(cpu_minutes(one.run.recipe) / num_members(one.run.recipe) for one in runs) < 17
