"""Tables and figures from folders: the paper's numbers, ours, and why one is missing."""

import json
import math
from pathlib import Path

import pytest
from grid_runs import finish, folder_of, planned, read, write

from softaug.checks import NotFiniteError
from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.recipes.paper_tables import find_tables
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.plan import make_plan
from softaug.lab.reproduce.run_one import save_divergence


def collected(plan, name):
    (file,) = Collector(plan, plan.out / "no-data").collect([name])
    assert file == plan.out / f"{name}.json"
    return read(file)


def row_of(table, recipe, group=""):
    return next(row for row in table["rows"] if row["recipe"] == recipe and group in row["group"])


SOFT, HARD = "cifar100-resnet18-soft", "cifar100-resnet18-hard"


def test_before_any_run_rows_wait_and_quoted_numbers_stand(tmp_path):
    plan = planned(tmp_path, "table1", seeds=2)
    write(folder_of(plan, SOFT, 1) / "failure.json", {"message": "no memory", "when": ""})
    table = collected(plan, "table1")
    assert not table["complete"]
    assert {row["cells"][0]["state"] for row in table["rows"]} == {"waiting"}
    zhang = {"value": 25.6, "se": None, "source": "Zhang et al. (Mixup)"}
    assert table["rows"][0]["cells"][0]["paper"] == zhang
    assert row_of(table, SOFT)["cells"][0]["why"] == "1 of 2 failed: no memory"


def test_ours_are_percents_with_mean_and_standard_error_over_seeds(tmp_path):
    plan = planned(tmp_path, "table1", seeds=3)
    for seed, error in enumerate((0.10, 0.12, 0.14)):
        finish(folder_of(plan, SOFT, seed), error=error)
    (cell,) = row_of(collected(plan, "table1"), SOFT)["cells"]
    assert cell["state"] == "complete"
    assert cell["paper"] == {"value": 18.31, "se": 0.17, "source": ""}
    assert cell["ours"]["values"] == [10.0, 12.0, 14.0]
    assert cell["ours"]["mean"] == pytest.approx(12)
    assert cell["ours"]["se"] == pytest.approx(2 / math.sqrt(3))
    assert (cell["ours"]["n"], cell["ours"]["planned"]) == (3, 3)
    finish(folder_of(plan, HARD, 1), error=0.2)
    (some,) = row_of(collected(plan, "table1"), HARD)["cells"]
    assert (some["state"], some["ours"]["n"], some["ours"]["planned"]) == ("partial", 1, 3)
    assert some["ours"]["se"] is None


def test_a_table_is_complete_when_no_row_waits_and_files_are_read_again(tmp_path):
    plan = planned(tmp_path, "table9", "figure2")
    collector = Collector(plan, None)
    for run in plan.runs:
        assert not collector.describe(plan.tables[0])["complete"]
        finish(run.folder, error=0.5)
    assert collector.describe(plan.tables[0])["complete"]
    assert collected(plan, "figure2")["complete"]  # it needs no run
    (plan.runs[0].folder / "evaluation.json").unlink()
    assert collector.error_of(plan.runs[0]) is None


def diverge(plan, recipe, seed=0):
    run = next(one for one in plan.runs if one.folder == folder_of(plan, recipe, seed))
    save_divergence(run.folder, run.recipe, NotFiniteError("the loss is nan"))


@pytest.mark.parametrize(
    ("table", "recipe", "complete"),
    [("table8", "cifar100-simsiam-resnet18-sa2-lr0.4", True), ("table6", SOFT, False)],
)
def test_what_diverged_is_named_and_leaves_a_table_open_unless_it_did_in_the_paper(
    tmp_path, table, recipe, complete
):
    plan = planned(tmp_path, table, seeds=2)
    for run in plan.runs:
        finish(run.folder, error=0.5)
    (folder_of(plan, recipe, 1) / "evaluation.json").unlink()
    diverge(plan, recipe, 1)
    found = collected(plan, table)
    (cell,) = row_of(found, recipe)["cells"]
    assert (cell["state"], cell["ours"]["n"], cell["why"]) == ("diverged", 1, "diverged: seed 1")
    assert cell["diverged"] == {"seeds": [1], "planned": 2}
    assert found["complete"] is complete


def test_figure_3_shows_reductions_of_the_error_paired_by_seed(tmp_path):
    plan, soft = planned(tmp_path, "figure3", seeds=2), "cifar100-resnet18-figure3-both-k2-sigma0.3"
    for recipe, errors in ((HARD, (0.3, 0.2)), (soft, (0.1, 0.2))):
        for seed, error in enumerate(errors):
            finish(folder_of(plan, recipe, seed), error=error)
    *_, both = collected(plan, "figure3")["panels"]
    line = next(line for line in both["lines"] if line["label"] == "k = 2")
    assert line["mean"] == [None, None, pytest.approx(10), None]
    assert (line["se"][2], line["n"]) == (pytest.approx(10), [0, 0, 2, 0])
    assert line["paper"] == [None, None, 2.5, None]


def test_features_no_better_than_chance_count_as_diverged(tmp_path):
    name, plan = "cifar100-simsiam-resnet18-sa2-lr0.4", planned(tmp_path, "table8", seeds=2)
    for seed, knn in enumerate((0.89, 0.80)):
        folder = folder_of(plan, name, seed)
        finish(folder, error=0.895, knn_error=knn)
        evaluation = read(folder / "evaluation.json")
        write(folder / "evaluation.json", {**evaluation, "class_names": list("0123456789")})
    (cell,) = row_of(collected(plan, "table8"), name)["cells"]
    assert (cell["state"], cell["why"], cell["ours"]["values"]) == (
        "diverged",
        "diverged: seed 0",
        [89.5],
    )


def test_the_release_s_error_is_the_least_of_its_evaluations(tmp_path):
    plan = make_plan(find_tables(["table1"], settings="release"), "smoke", tmp_path, None, 1)
    folder = folder_of(plan, f"{SOFT}-release")
    finish(folder, error=0.2)
    errors = {"test_error": 0.25}, {}, {"test_error": 0.15}
    rows = [{"step": n, "epoch": n, **error} for n, error in enumerate(errors)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    best, last = row_of(collected(plan, "table1-release"), f"{SOFT}-release")["cells"]
    assert (best["paper"]["value"], best["ours"]["mean"]) == (18.31, 15.0)
    assert (last["paper"], last["ours"]["mean"]) == (None, 20.0)


def test_a_failure_that_is_tried_again_at_this_moment_is_no_failure(tmp_path, monkeypatch):
    plan = planned(tmp_path, "table1")
    collector = Collector(plan, tmp_path)
    write(folder_of(plan, SOFT) / "failure.json", {"message": "killed", "when": ""})

    def vanish(file):
        file.unlink()
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", vanish)
    (cell,) = row_of(collector.describe(plan.tables[0]), SOFT)["cells"]
    assert (cell["state"], cell["why"]) == ("waiting", "")


def test_imagenet_v2_is_asked_for_and_not_measured_by_networks_of_other_classes(tmp_path):
    name, plan = "imagenet-resnet50-soft", planned(tmp_path, "table7")
    finish(folder_of(plan, name), ece_10=0.05)
    table = collected(plan, "table7")
    (own,), (second,) = (row_of(table, name, group)["cells"] for group in ("1K", V2))
    assert (own["state"], own["ours"]["mean"]) == ("complete", 5.0)
    assert (second["state"], second["ours"]) == ("not at this scale", None)
    assert second["paper"]["value"] == 3.24
    plan = planned(tmp_path, "table7", scale="paper")
    finish(folder_of(plan, name), **{f"{V2}/ece_10": 0.04})
    v2 = tmp_path / "no-data" / "imagenetv2-matched-frequency-format-val"
    (before,) = row_of(collected(plan, "table7"), name, V2)["cells"]
    v2.mkdir(parents=True)
    (after,) = row_of(collected(plan, "table7"), name, V2)["cells"]
    assert str(v2) in before["why"]
    assert (after["state"], after["ours"]["mean"]) == ("complete", 4.0)


def test_figure_5_has_errors_where_the_evaluation_has_accuracies(tmp_path):
    plan = planned(tmp_path, "figure5")
    accuracies = {f"occlusion/{level}": 0.9 - level for level in (0.2, 0.4, 0.6, 0.8)}
    finish(folder_of(plan, "imagenet-resnet50-baseline"), error=0.1, **accuracies)
    figure = collected(plan, "figure5")
    baseline, *others = figure["panels"][0]["lines"]
    assert baseline["x"] == [0, 20, 40, 60, 80]
    assert baseline["mean"] == pytest.approx([10, 30, 50, 70, 90])
    assert baseline["paper"] == [None, None, None, None, 96.58]
    assert [line["mean"] for line in others] == [[None] * 5] * 3


def test_figure_1_shows_offsets_and_softens_only_the_soft_crop(tmp_path):
    crops = collected(planned(tmp_path, "figure1", scale="paper"), "figure1")["crops"]
    assert [crop["label"] for crop in crops] == ["Hard crop", "Aggressive hard crop", "Soft crop"]
    reaches = [max(abs(part) for pair in crop["offsets"] for part in pair) for crop in crops]
    assert reaches[:2] == [4, 16]
    assert [min(crop["confidence"]) < 1 for crop in crops] == [False, False, True]


def test_examples_name_the_first_seed_s_folders(tmp_path):
    plan = planned(tmp_path, "figure6", seeds=2)
    figure = collected(plan, "figure6")
    names = ("hard", "soft-trivialaugment")
    assert figure["runs"] == [f"runs/smoke-cifar100-wrn28-10-{arm}-seed0" for arm in names]
    assert figure["labels"] == ["Baseline", "Soft Augmentation + TrivialAugment"]
    assert not figure["complete"]
    for run in figure["runs"]:
        finish(tmp_path / run, error=0.0)
    assert collected(plan, "figure6")["complete"]
