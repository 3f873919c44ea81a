from softaug.lab.report.exhibits.progress import unfinished


def test_runs_are_counted_once_for_each_recipe(table, tmp_path):
    # hard 3, smoothing 2 of 3, soft 3, mixup 0 of 3, trivial 3, resnet 3, its second images none
    assert unfinished(table, tmp_path).startswith("partial: 14 of 18 runs")
    table["rows"].append({**table["rows"][1], "group": "again"})
    assert unfinished(table, tmp_path).startswith("partial: 14 of 18 runs")


def test_numbers_that_have_no_data_are_counted(table, tmp_path):
    assert unfinished(table, tmp_path).endswith("; numbers without data: 1")


def test_runs_that_diverged_are_missing_unless_the_paper_s_did(table, tmp_path):
    mixup = table["rows"][4]["cells"][0]
    mixup.update(state="diverged", diverged={"seeds": [0, 1, 2], "planned": 3})
    assert unfinished(table, tmp_path).startswith("partial: 14 of 18 runs; diverged: 3;")
    mixup["paper"] = {"value": None, "se": None}
    assert unfinished(table, tmp_path).startswith("partial: 17 of 18 runs; numbers")


def test_a_complete_exhibit_has_no_mark(table, tmp_path):
    assert unfinished({**table, "complete": True}, tmp_path) == ""


def test_before_the_first_run_nothing_is_counted(table, tmp_path):
    rows = [table["rows"][4]]
    assert unfinished({**table, "rows": rows}, tmp_path) == "partial: no run has finished yet"


def test_examples_count_the_arms_that_are_evaluated(examples, tmp_path):
    content, folder = examples
    (folder / "runs/soft-seed0/evaluation.json").unlink()
    assert unfinished({**content, "complete": False}, folder) == "partial: 1 of 2 runs"
