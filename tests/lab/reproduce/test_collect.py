"""Tables and figures from folders: the paper's numbers, ours, and why one is missing."""

import math
from pathlib import Path

import pytest
from run_files import finish, folder_of, planned, read, write

from softaug.checks import NotFiniteError
from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.run_one import save_divergence


def collected(plan, name):
    (file,) = Collector(plan, plan.out / "no-data").collect([name])
    assert file == plan.out / f"{name}.json"
    return read(file)


def row_of(table, recipe, group=""):
    return next(row for row in table["rows"] if row["recipe"] == recipe and group in row["group"])


SOFT, HARD = "cifar100-resnet18-soft", "cifar100-resnet18-hard"


def test_before_any_run_rows_wait_and_quoted_ones_stand(tmp_path):
    table = collected(planned(tmp_path, "table1"), "table1")
    assert not table["complete"]
    states = {bool(row["quoted"]): row["cells"][0]["state"] for row in table["rows"]}
    assert states == {True: "quoted", False: "waiting"}
    assert table["rows"][0]["cells"][0]["paper"] == {
        "value": 25.6,
        "se": None,
        "source": "Zhang et al. (Mixup)",
    }


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


def test_a_table_is_complete_when_no_row_waits(tmp_path):
    plan = planned(tmp_path, "table6", "figure2")
    for one in plan.runs:
        assert not collected(plan, "table6")["complete"]
        finish(one.run.folder, error=0.5)
    assert collected(plan, "table6")["complete"]
    assert collected(plan, "figure2")["complete"]  # it needs no run


def test_failures_are_told_where_the_number_is_missing(tmp_path):
    plan = planned(tmp_path, "table8", seeds=2)
    name = "cifar100-simsiam-resnet18-sa2-lr0.8"
    write(folder_of(plan, name, 1) / "failure.json", {"message": "no memory", "when": ""})
    (cell,) = row_of(collected(plan, "table8"), name)["cells"]
    assert (cell["state"], cell["measure"]) == ("waiting", "probe_error")
    assert cell["why"] == "1 of 2 failed: no memory"


def diverge(plan, recipe, seed=0):
    run = next(one.run for one in plan.runs if one.run.folder == folder_of(plan, recipe, seed))
    save_divergence(run.folder, run.recipe, NotFiniteError("the loss is nan"))


def test_what_diverged_in_the_paper_and_here_is_complete(tmp_path):
    plan = planned(tmp_path, "table8", seeds=2)
    lost = [f"cifar100-simsiam-resnet18-sa2-lr{lr}" for lr in ("0.4", "0.5", "0.8")]
    for one in plan.runs:
        finish(one.run.folder, error=0.5)
    for name, seed in [(name, seed) for name in lost for seed in (0, 1)]:
        (folder_of(plan, name, seed) / "evaluation.json").unlink()
        diverge(plan, name, seed)
    table = collected(plan, "table8")
    (cell,) = row_of(table, lost[0])["cells"]
    assert table["complete"]
    assert (cell["state"], cell["ours"], cell["paper"]["value"]) == ("diverged", None, None)
    assert cell["diverged"] == {"seeds": [0, 1], "planned": 2}


def test_a_run_that_diverges_elsewhere_is_named_and_leaves_the_table_open(tmp_path):
    plan = planned(tmp_path, "table6", seeds=2)
    for one in plan.runs:
        finish(one.run.folder, error=0.5)
    (folder_of(plan, SOFT, 1) / "evaluation.json").unlink()
    diverge(plan, SOFT, 1)
    table = collected(plan, "table6")
    (cell,) = row_of(table, SOFT)["cells"]
    assert not table["complete"]
    assert (cell["state"], cell["ours"]["n"], cell["why"]) == ("diverged", 1, "diverged: seed 1")


def test_a_failure_that_is_tried_again_at_this_moment_is_no_failure(tmp_path, monkeypatch):
    plan = planned(tmp_path, "table1")
    write(folder_of(plan, SOFT) / "failure.json", {"message": "killed", "when": ""})

    collector, read_at_once = Collector(plan, tmp_path), Path.read_text

    def read_late(path):
        path.unlink()
        return read_at_once(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", read_late)
        (file,) = collector.collect(["table1"])
    (cell,) = row_of(read(file), SOFT)["cells"]
    assert (cell["state"], cell["why"]) == ("waiting", "")


def test_rows_without_images_say_so_and_finished_ones_count(tmp_path):
    plan = planned(tmp_path, "table1", scale="paper")
    finish(folder_of(plan, HARD), error=0.25)
    table = collected(plan, "table1")
    (lacking,), (there,) = (row_of(table, name)["cells"] for name in (SOFT, HARD))
    assert lacking["state"] == "no data"
    assert "`softaug data cifar100" in lacking["why"]
    assert (there["state"], there["ours"]["mean"]) == ("complete", 25.0)
    assert not table["complete"]


def test_what_has_no_small_network_is_not_at_this_scale(tmp_path):
    table = collected(planned(tmp_path, "table2", scale="cpu"), "table2")
    (cell,) = row_of(table, "cifar10-pyramidnet272-soft")["cells"]
    assert cell["state"] == "not at this scale"
    assert cell["why"] == "no small network stands for pyramidnet272"
    assert any("sigma 0.3" in note for note in table["notes"])


def test_imagenet_v2_is_not_measured_by_networks_of_other_classes(tmp_path):
    plan = planned(tmp_path, "table7")
    finish(folder_of(plan, "imagenet-resnet50-soft"), ece_10=0.05)
    table = collected(plan, "table7")
    (own,) = row_of(table, "imagenet-resnet50-soft", "1K")["cells"]
    (second,) = row_of(table, "imagenet-resnet50-soft", V2)["cells"]
    assert (own["state"], own["ours"]["mean"]) == ("complete", 5.0)
    assert (second["state"], second["ours"]) == ("not at this scale", None)
    assert second["paper"]["value"] == 3.24


def test_imagenet_v2_is_asked_for_until_its_folder_is_there(tmp_path):
    plan = planned(tmp_path, "table7", scale="paper")
    finish(folder_of(plan, "imagenet-resnet50-soft"), **{f"{V2}/ece_10": 0.04})
    v2 = tmp_path / "no-data" / "imagenetv2-matched-frequency-format-val"
    (before,) = row_of(collected(plan, "table7"), "imagenet-resnet50-soft", V2)["cells"]
    v2.mkdir(parents=True)
    (after,) = row_of(collected(plan, "table7"), "imagenet-resnet50-soft", V2)["cells"]
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


def test_figure_3_has_a_level_line_for_the_baseline_in_each_panel(tmp_path):
    plan = planned(tmp_path, "figure3")
    finish(folder_of(plan, HARD), error=0.3)
    finish(folder_of(plan, "cifar100-resnet18-figure3-weight-k3-sigma0.2"), error=0.2)
    panels = collected(plan, "figure3")["panels"]
    assert [panel["lines"][0]["mean"] for panel in panels] == [[30.0] * 4] * 4
    weight = panels[2]["lines"][3]
    assert (weight["label"], weight["x"], weight["n"]) == (
        "k = 3",
        [0.1, 0.2, 0.3, 0.4],
        [0, 1, 0, 0],
    )


def test_figure_1_shows_offsets_and_softens_only_the_soft_crop(tmp_path):
    crops = collected(planned(tmp_path, "figure1", scale="paper"), "figure1")["crops"]
    assert [crop["label"] for crop in crops] == ["Hard crop", "Aggressive hard crop", "Soft crop"]
    reaches = [max(abs(part) for pair in crop["offsets"] for part in pair) for crop in crops]
    assert reaches[:2] == [4, 16]
    assert [min(crop["confidence"]) < 1 for crop in crops] == [False, False, True]


def test_examples_name_the_first_seed_s_folders(tmp_path):
    plan = planned(tmp_path, "figure6", seeds=2)
    figure = collected(plan, "figure6")
    assert figure["runs"] == [
        "runs/smoke-cifar100-wrn28-10-hard-seed0",
        "runs/smoke-cifar100-wrn28-10-soft-trivialaugment-seed0",
    ]
    assert figure["labels"] == ["Baseline", "Soft Augmentation + TrivialAugment"]
    assert not figure["complete"]
    for run in figure["runs"]:
        finish(tmp_path / run, error=0.0)
    assert collected(plan, "figure6")["complete"]


def test_a_run_that_is_evaluated_again_is_read_again(tmp_path):
    plan = planned(tmp_path, "table6")
    collector = Collector(plan, None)
    first = plan.runs[0]
    finish(first.run.folder, error=0.5)
    assert collector.error_of(first) == 50.0
    (first.run.folder / "evaluation.json").unlink()
    assert collector.error_of(first) is None
