"""Tables, sentences and the terminal: words and numbers from the file."""

import io

import pytest
from rich.console import Console

from softaug.lab.report.evaluation import print_comparison
from softaug.lab.report.evaluation.calibration_tables import calibration_tables
from softaug.lab.report.evaluation.cautions import cautions
from softaug.lab.report.evaluation.class_table import class_table
from softaug.lab.report.evaluation.examples import whole_cards
from softaug.lab.report.evaluation.headline import findings
from softaug.lab.report.evaluation.reading import check_comparison
from softaug.lab.report.evaluation.settings import (
    commands,
    environment_rows,
    member_table,
    recipe_tables,
)
from softaug.lab.report.evaluation.tables import main_table, pair_table, run_table


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_main_table_shows_means_and_marks_the_best(comparison):
    table = main_table(comparison)
    assert texts(table)[0] == ["Error, %\N{NO-BREAK SPACE}↓", "12.00 ± 2.00", "7.50 ± 1.50"]
    assert [[cell.best for cell in row[1:]] for row in table.rows] == [[False, True]] * 4
    assert table.rows[0][1].csv == ("12.000000000000002", "2.0000000000000004", "2")
    assert "n = 2 seeds; 1,000 test images" in table.caption


def test_pair_table_shows_difference_intervals_and_verdict(comparison):
    table = pair_table(comparison["pairs"][0], comparison["measures"], 0)
    first = texts(table)[0]
    assert first[1:3] == ["−4.50", "−10.85 to +1.85"]  # 12.706 standard errors of 0.5
    assert first[3:] == ["−4.00 (−6.25 to −1.75)", "▲ better (n = 2 seeds)"]
    assert texts(table)[3][3:] == ["–", "▼ worse (n = 2 seeds)"]


def test_equal_differences_have_no_interval_over_seeds(comparison):
    pair = comparison["pairs"][0]
    pair["by_seed"]["error"]["se"] = 0.0
    assert texts(pair_table(pair, comparison["measures"], 0))[0][1:3] == ["−4.50", "–"]


def test_run_table_has_a_row_for_each_run(comparison):
    assert texts(run_table(comparison))[3][:4] == ["soft", "1", "9.00", "0.180"]


def test_headline_tells_verdicts_with_n(comparison):
    (finding,) = findings(comparison)
    assert finding.sentence == (
        "soft against hard: better in error; worse in accuracy, 40% hidden; "
        "no difference shown in NLL and ECE (15 bins)."
    )
    phrase = "−4.50 points, 95 % interval −10.85 to +1.85, n = 2 seeds"
    assert finding.lines[0].phrase == phrase
    assert "12.7 standard errors" in finding.note


def test_a_verdict_over_images_tells_the_difference_of_that_pair(comparison):
    pair = comparison["pairs"][0]
    pair["by_seed"], pair["seeds"] = {}, []
    verdict = {"word": "better", "n": 1000, "over": "images", "text": "better"}
    pair["verdicts"]["error"] = verdict
    (finding,) = findings(comparison)
    assert finding.lines[0].phrase == "−4.00 points, 95 % interval −6.25 to −1.75, n = 1,000 images"
    assert finding.lines[1].phrase == "not known, n = 2 seeds"
    assert "another seed may turn" in finding.note


def test_headline_of_one_evaluation(evaluation):
    (finding,) = findings(check_comparison(evaluation))
    assert finding.sentence == "soft: error 6.00 % (95 % interval over images 4.00 to 8.00)."
    assert "nothing to compare" in finding.note


def test_recipe_tables_part_what_differs(comparison):
    comparison["arms"][1]["evaluations"][1]["recipe"]["data"]["validation"] = 5
    unlike, alike = map(texts, recipe_tables(comparison["arms"]))
    assert ["loss.soften", "none", "both"] in unlike
    assert ["data.validation", "0", "0 (seed 0); 5 (seed 1)"] in unlike
    assert ["model", "resnet8"] in alike
    assert "seed" not in [row[0] for row in unlike + alike]


def test_a_part_that_only_one_recipe_has_is_told_by_its_settings(comparison):
    for arm, mix in zip(comparison["arms"], (None, {"kind": "mixup", "alpha": 1.0}), strict=True):
        for evaluation in arm["evaluations"]:
            evaluation["recipe"] |= {"mix": mix, "order": ["flip", "crop"], "schedules": []}
    unlike, alike = map(texts, recipe_tables(comparison["arms"]))
    mixing = [row for row in unlike + alike if row[0].startswith("mix")]
    assert mixing == [["mix.kind", "–", "mixup"], ["mix.alpha", "–", "1.0"]]
    assert ["order", '["flip", "crop"]'] in alike
    assert ["schedules", "[]"] in alike


def test_commands_make_it_again(comparison):
    comparison["arms"][0]["evaluations"][0]["members"][0]["folder"] = "my runs/a; rm"
    found = commands(comparison)
    assert found[0] == "softaug train 'my runs/a; rm/recipe.json' --out 'my runs/a; rm'"
    assert "softaug evaluate /runs/soft-seed0 --draws 2" in found
    assert found[-1] == "softaug compare /runs/hard-seed0 /runs/hard-seed1 --out both"


def test_commands_of_an_ensemble_train_each_member_once(evaluation):
    evaluation["members"] *= 2
    evaluation["command"] = "softaug evaluate a a --ensemble --out b"
    found = commands(check_comparison(evaluation))
    assert found == [
        "softaug train /runs/soft-seed0/recipe.json --out /runs/soft-seed0",
        "softaug evaluate a a --ensemble --out b",
    ]


def test_calibration_before_and_after_of_every_figure(comparison):
    ((name, table),) = calibration_tables(comparison)
    assert name == "test"
    keys = [figure["label"] for figure in comparison["calibration"]]
    assert [row[0].csv[0] for row in table.rows] == keys
    assert len(keys) == 9
    heads = [column.name for column in table.columns]
    assert heads == ["Figure", "hard, before", "hard, after", "soft, before", "soft, after"]
    assert texts(table)[0][1:3] == ["0.24 ± 0.04", "0.18 ± 0.03"]  # NLL: 0.20, 0.28; 0.15, 0.21
    assert texts(table)[-1][1:3] == ["+1.00 ± 0.00, over", "−2.00 ± 0.00, under"]
    assert [float(part) for part in table.rows[0][1].csv] == pytest.approx([0.24, 0.04, 2])


def test_calibration_of_one_evaluation_on_each_of_its_sets(evaluation):
    evaluation["sets"]["new"] = {**evaluation["sets"]["test"], "n": 60}
    tables = calibration_tables(check_comparison(evaluation))
    assert [name for name, _ in tables] == ["test", "new"]
    assert [column.name for column in tables[1][1].columns] == ["Figure", "Before", "After"]
    assert tables[1][1].caption.startswith("60 new images")


def test_a_set_that_one_run_lacks_is_not_compared(comparison):
    hard = comparison["arms"][0]["evaluations"][0]
    hard["sets"]["new"] = hard["sets"]["test"]
    assert [name for name, _ in calibration_tables(comparison)] == ["test"]


def test_the_class_table_has_error_nll_and_brier_of_each_arm(comparison):
    table = class_table(comparison["arms"])
    assert [column.name for column in table.columns][2:5] == [
        "hard: error, %",
        "hard: NLL",
        "hard: Brier score",
    ]
    # cat: errors 0.10 and 0.14, NLL twice that; 0.06 and 0.09
    assert texts(table)[0] == ["cat", "10", "12.0", "0.240", "0.120", "7.5", "0.150", "0.075"]
    assert texts(table)[2] == ["owl", "0", *"––––––"]


def test_environment_tells_all_that_differ(comparison):
    comparison["environment"]["torch"] = "3.0"
    found = dict(environment_rows(comparison))
    assert found["torch"] == "2.10.0; 3.0"
    assert found["commit"] == "not known"


@pytest.fixture
def printed(written):
    def run(**options):
        out = io.StringIO()
        print_comparison(written, Console(file=out, width=100, **options))
        return out.getvalue()

    return run


def test_plain_lines_where_there_is_no_terminal(printed):
    lines = printed().splitlines()
    assert lines[0] == "hard (n = 2):"
    assert "  Error, %: 7.50 ± 1.50 *" in lines
    assert (
        "soft: over-confident by 1.00 points, after temperature scaling under-confident by 2.00."
        in lines
    )
    assert "  Error, %: −4.50 [−10.85 to +1.85], better (n = 2 seeds)" in lines


def test_a_table_in_a_terminal(printed):
    text = printed(force_terminal=True, no_color=True, color_system=None)
    assert "12.00 ± 2.00" in text
    assert "soft against hard:" in text
    assert text.splitlines()[0].split() == ["hard", "soft"]


def test_no_cautions_where_all_runs_are_alike(comparison):
    assert cautions(comparison) == []


def test_cautions_where_runs_are_not_alike(comparison):
    hard, soft = comparison["arms"]
    soft["evaluations"][1]["recipe"]["data"]["validation"] = 5
    soft["evaluations"][1]["robustness"]["occlusion"]["draws"] = 3
    soft["evaluations"][1]["temperature"]["how"] = "by halves"
    hard["seeds"] = [0, 2]
    found = cautions(comparison)
    assert found[0] == "Runs of soft differ in more than the seed: data.validation."
    assert found[1] == "Harmed images were drawn 2 and 3 times, not alike in all runs."
    assert found[2].endswith("fitted on 100 images that were held out; by halves.")
    assert found[3] == "Arms do not have the same seeds: hard 0, 2; soft 0, 1."


def test_an_unfinished_run_is_told(comparison):
    member = comparison["arms"][1]["evaluations"][1]["members"][0]
    member |= {"step": 1200, "num_steps": 1500, "finished": False}
    expected = "Training was not finished: soft, seed 1, at step 1,200 of 1,500."
    assert cautions(comparison) == [expected]
    assert "1,200 of 1,500" in [row[2].text for row in member_table(comparison["arms"]).rows]


def test_the_split_that_was_measured_is_named(evaluation):
    evaluation["sets"]["validation"] = evaluation["sets"].pop("test")
    evaluation["split"] = "validation"
    found = check_comparison(evaluation)
    assert "1,000 validation images" in main_table(found).caption
    assert "Measured on 1,000 validation images" in findings(found)[0].note
    assert whole_cards(found["arms"])[0].note == "validation image 7"
    assert cautions(found)[0].startswith("All was measured on validation images, which were held")


def test_one_run_is_shown_with_its_interval_over_images(evaluation):
    table = main_table(check_comparison(evaluation))
    assert texts(table)[0][1] == "6.00 (4.00 to 8.00)"
    assert "95 % intervals over images" in table.caption
