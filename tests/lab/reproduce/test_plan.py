"""Exhibits become runs: each once, by every seed, with what it costs."""

import pytest
from grid_runs import planned, read

from softaug.lab.recipes import find
from softaug.lab.recipes.paper_numbers import PaperTable, study_rows
from softaug.lab.recipes.scale import SCALES, at_scale
from softaug.lab.reproduce.cost import cpu_minutes, estimate_hours
from softaug.lab.reproduce.plan import make_plan, write_digits_if_needed, write_grid


def test_runs_that_several_tables_need_are_planned_once_by_every_seed(tmp_path):
    plan = planned(tmp_path, "table1", "table6", seeds=2)
    names = [run.name for run in plan.runs]
    assert len(set(names)) == len(names) == 2 * (10 + 5)
    assert plan.tables_of(plan.runs[0].recipe) == ["table1", "table6"]
    assert [run.recipe.seed for run in plan.runs[:4]] == [0, 1, 0, 1]
    for run in plan.runs:
        assert run.name == f"{run.recipe.name}-seed{run.recipe.seed}"
        assert run.folder == tmp_path / "runs" / run.name


@pytest.mark.parametrize("scale", SCALES)
def test_every_run_of_all_tables_has_a_name_of_its_own_and_a_cost(tmp_path, scale):
    plan = planned(tmp_path, "all", scale=scale)
    assert len({run.name for run in plan.runs}) == len(plan.runs)
    assert scale == "paper" or all(run.hours for run in plan.runs)
    for recipe in (run.recipe for run in plan.runs if scale == "cpu"):
        # These train to the end; what is fine-tuned has seen all of CIFAR-100.
        long = {"-5000x400-": 60, "-fastnet-": 150, "cifar100-resnet8-s2-hard": 60}
        limit = next((most for part, most in long.items() if part in recipe.name), 17)
        assert cpu_minutes(recipe) / getattr(recipe, "members", 1) < limit


def test_grid_json_says_all_of_each_run(tmp_path):
    grid = read(write_grid(planned(tmp_path, "table3")))
    assert (grid["schema"], grid["scale"], grid["tables"]) == (2, "smoke", ["table3"])
    (ensemble,) = [run for run in grid["runs"] if run["members"] == 2][:1]
    assert ensemble["folder"] == "runs/smoke-cifar100-wrn28-10-ensemble-seed0"
    assert (ensemble["data"], ensemble["model"], ensemble["epochs"]) == ("digits", "resnet8", 1)
    assert (ensemble["seed"], ensemble["tables"], ensemble["no_data"]) == (0, ["table3"], None)


def test_digits_take_the_place_of_photographs_that_are_missing(tmp_path):
    plan = planned(tmp_path, "table7")
    digits = f"folder:{tmp_path / 'digits-as-files'}"
    assert {(run.recipe.data.name, run.no_data) for run in plan.runs} == {(digits, None)}
    write_digits_if_needed(plan)
    assert len(list(tmp_path.rglob("val/*/*.png"))) == 40
    (tmp_path / "no-data" / "imagenette").mkdir(parents=True)
    plan = planned(tmp_path, "table7")
    assert {run.recipe.data.name for run in plan.runs} == {"imagenette"}
    assert "imagenette" in plan.runs[0].no_data  # it is empty


def test_the_paper_s_cost_is_the_catalog_s_and_cpu_s_is_counted():
    entry = find("cifar100-resnet18-soft")
    assert estimate_hours(entry.recipe, "paper", entry.cost) == 2.5
    small = at_scale(entry.recipe, "cpu")  # 10,000 images, 40 epochs, 900 a second
    assert cpu_minutes(small) == pytest.approx(10_000 * 40 / 900 / 60 + 0.7)
    five = at_scale(find("cifar100-wrn28-10-ensemble").recipe, "cpu")
    assert cpu_minutes(five) == pytest.approx(5 * cpu_minutes(small))


def test_a_study_is_arms_by_seeds_each_compared_with_the_first(tmp_path):
    names = {arm: f"cifar10-resnet8-s2-{arm}" for arm in ("hard", "soft")}
    rows = study_rows("CIFAR-10", names, most_seeds={names["soft"]: 2})
    study = PaperTable("mine", "A study", rows, num_seeds=4)
    plan = make_plan([study], "cpu", tmp_path, tmp_path)
    assert [run.recipe.name for run in plan.runs] == [names["hard"]] * 4 + [names["soft"]] * 2
    assert [row.baseline for row in plan.tables[0].rows] == [None, "hard"]
    assert len(make_plan([study], "cpu", tmp_path, tmp_path, num_seeds=1).runs) == 2
