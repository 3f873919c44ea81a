"""Exhibits become runs: each once, by every seed, with what it costs."""

import pytest
from run_files import planned, read

from softaug.lab.recipes import find
from softaug.lab.recipes.scale import SCALES, at_scale
from softaug.lab.reproduce.cost import cpu_minutes, estimate_hours, estimate_left
from softaug.lab.reproduce.plan import make_plan, write_digits_if_needed, write_grid
from softaug.lab.reproduce.studies import Study, find_by_name, make_arm


def test_runs_that_several_tables_need_are_planned_once(tmp_path):
    plan = planned(tmp_path, "table1", "table6", seeds=2)
    names = [one.run.name for one in plan.runs]
    assert len(set(names)) == len(names) == 2 * (10 + 5)
    assert plan.tables_of(plan.runs[0].run.recipe) == ["table1", "table6"]


def test_each_run_has_its_seed_and_a_folder_of_its_name(tmp_path):
    plan = planned(tmp_path, "table9", seeds=3)
    assert [one.run.recipe.seed for one in plan.runs[:4]] == [0, 1, 2, 0]
    for one in plan.runs:
        assert one.run.name == f"{one.run.recipe.name}-seed{one.run.recipe.seed}"
        assert one.run.folder == tmp_path / "runs" / one.run.name


@pytest.mark.parametrize("scale", SCALES)
def test_every_run_of_all_tables_has_a_name_of_its_own_and_a_cost(tmp_path, scale):
    plan = planned(tmp_path, "all", scale=scale)
    assert len({one.run.name for one in plan.runs}) == len(plan.runs)
    assert scale == "paper" or all(one.hours for one in plan.runs)


def test_grid_json_says_all_of_each_run(tmp_path):
    grid = read(write_grid(planned(tmp_path, "table3")))
    assert (grid["schema"], grid["scale"], grid["tables"]) == (2, "smoke", ["table3"])
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
        "tables": ["table3"],
        "hours": ensemble["hours"],
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
    write_digits_if_needed(plan)
    assert len(list(tmp_path.rglob("val/*/*.png"))) == 40


def test_photographs_are_taken_where_they_are(tmp_path):
    (tmp_path / "no-data" / "imagenette").mkdir(parents=True)
    plan = planned(tmp_path, "table7")
    assert {one.run.recipe.data.name for one in plan.runs} == {"imagenette"}
    assert "imagenette" in plan.runs[0].no_data  # it is empty


def test_the_paper_s_cost_is_the_catalog_s_and_cpu_s_is_counted():
    entry = find("cifar100-resnet18-soft")
    assert estimate_hours(entry.recipe, "paper", entry.cost) == 2.5
    small = at_scale(entry.recipe, "cpu")  # 10,000 images, 40 epochs, 900 a second
    assert cpu_minutes(small) == pytest.approx(10_000 * 40 / 900 / 60 + 0.7)
    five = at_scale(find("cifar100-wrn28-10-ensemble").recipe, "cpu")
    assert cpu_minutes(five) == pytest.approx(5 * cpu_minutes(small))


def test_no_network_at_the_cpu_scale_takes_more_than_17_minutes(tmp_path):
    for one in planned(tmp_path, "all", scale="cpu").runs:
        recipe = one.run.recipe
        limit = 60 if "-5000x400-" in recipe.name else 17  # where-it-pays trains to the end
        assert cpu_minutes(recipe) / getattr(recipe, "members", 1) < limit


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_the_time_left_is_right_within_a_factor_of_two_after_every_run(at_once):
    costs = {f"run{place}": cost for place, cost in enumerate([3, 3, 9, 3, 1, 1, 6, 2])}
    took = {
        name: cost * (0.8 if place % 2 else 1.2) for place, (name, cost) in enumerate(costs.items())
    }
    free, ends = [0.0] * at_once, {}
    for name, seconds in took.items():
        free.sort()
        free[0] += seconds
        ends[name] = free[0]
    order = sorted(ends, key=ends.get)
    for num, name in enumerate(order[:-1], 1):
        ended = {one: took[one] for one in order[:num]}
        left, true = estimate_left(costs, ended, at_once, ends[name]), max(free) - ends[name]
        assert true / 2 <= left <= 2 * true + 1


def test_a_study_is_arms_by_seeds_each_compared_with_the_first(tmp_path):
    soft = make_arm("cifar10-resnet8-s2-soft", {"optim.lr": 0.05}, num_seeds=2)
    groups = {"CIFAR-10": {"hard": make_arm("cifar10-resnet8-s2-hard"), "soft": soft}}
    study = Study("mine", "A study", groups, num_seeds=4)
    plan = make_plan([study], "cpu", tmp_path, tmp_path)
    names = [one.run.recipe.name for one in plan.runs]
    assert names == ["cifar10-resnet8-s2-hard"] * 4 + ["cifar10-resnet8-s2-soft-lr0.05"] * 2
    assert plan.runs[-1].run.recipe.optim.lr == 0.05
    assert [row.baseline for row in plan.tables[0].rows] == [None, "hard"]
    assert len(make_plan([study], "cpu", tmp_path, tmp_path, num_seeds=1).runs) == 2


def test_a_study_is_refused_at_the_paper_s_scale():
    with pytest.raises(ValueError, match="demo is a study of ours for scale cpu or smoke"):
        find_by_name(["demo"], "paper")
