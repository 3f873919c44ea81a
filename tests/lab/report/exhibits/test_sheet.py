"""Numbers of a table: rounding, differences, gains, marks and notes."""

import pytest

from softaug.lab.report.exhibits.numbers import our_gain
from softaug.lab.report.exhibits.sheet import like_for_like, sheet


def lines(exhibit, mark=""):
    """{(heading, label): line}."""
    found = sheet(exhibit, mark)
    return {(s.heading, line.label): line for s in found.sections for line in s.lines}


ERROR, ECE = "CIFAR-100: error, %", "CIFAR-100: calibration error (ECE), %"


def test_sections_follow_groups_and_measures_in_the_order_of_the_file(table):
    headings = [section.heading for section in sheet(table, "").sections]
    photos = ["ImageNet-1K: error, %", "ImageNet-1K: error on ImageNet-V2, %"]
    assert headings == [ERROR, ECE, *photos]


def test_images_that_name_the_group_are_not_named_twice(table):
    table["rows"][-1]["group"] = "ImageNet-V2"
    assert sheet(table, "").sections[-1].heading == "ImageNet-V2: error, %"


def test_a_row_has_both_numbers_their_difference_and_both_gains(table):
    found, soft = sheet(table, ""), lines(table)[ERROR, "Soft Augmentation"]
    # ours 27, 29, 28 against 30, 31, 32: 3, 2 and 4 points better, seed by seed
    assert dict(zip(found.heads[1:], found.cells(soft), strict=True)) == {
        "Paper’s": ("18.31 ± 0.17", ""),
        "Ours": ("28.00 ± 0.58", ""),
        "Runs": ("3 of 3", ""),
        "Ours − paper’s": ("+9.69", ""),
        "Gain, paper’s": ("+2.49", ""),
        "Gain, ours": ("+3.00 ± 0.58", ""),
    }


def test_without_numbers_of_the_paper_s_there_are_no_columns_for_them(study):
    found = sheet(study, "")
    assert found.heads == ("Row", "Ours", "Runs", "Gain over baseline")
    soft = found.sections[0].lines[1]
    assert [text for text, _ in found.cells(soft)] == ["28.00 ± 0.58", "3 of 3", "+3.00 ± 0.58"]
    assert "paper" not in " ".join(found.remarks)


def test_gains_of_another_measure_count_from_the_same_measure(table):
    assert lines(table)[ECE, "Soft Augmentation"].our_gain == "+3.00 ± 0.58"
    assert lines(table)[ECE, "Soft Augmentation"].paper_gain == "+3.10"


def test_a_quoted_number_has_no_gain_over_another_source_s_baseline(table):
    soft = table["rows"][3]["cells"][0]
    soft["paper"]["source"] = "another paper"
    line = lines(table)[ERROR, "Soft Augmentation"]
    assert (line.paper_gain, line.our_gain) == ("–", "+3.00 ± 0.58")
    table["rows"][1]["cells"][0]["paper"]["source"] = "another paper"
    assert lines(table)[ERROR, "Soft Augmentation"].paper_gain == "+2.49"


def test_a_partial_row_says_so_and_its_gain_has_no_error(table):
    smoothing = lines(table)[ERROR, "Label smoothing"]
    assert smoothing.ours == "29.75 ± 0.25 (partial)"
    assert (smoothing.runs, smoothing.our_gain) == ("2 of 3", "+1.25")


def test_the_baseline_gains_nothing_over_itself(table):
    hard = lines(table)[ERROR, "Hard crop"]
    assert (hard.paper_gain, hard.our_gain) == ("–", "–")


@pytest.mark.parametrize(
    ("label", "ours", "difference"),
    [
        ("Mixup", "waiting", "–"),
        ("PyramidNet-272", "not at this scale", "–"),
        ("TrivialAugment alone", "30.00 ± 0.58", "–"),
    ],
)
def test_what_is_missing_is_said_in_words(table, label, ours, difference):
    line = lines(table)[ERROR, label]
    assert (line.ours, line.difference) == (ours, difference)


def lose(table, place, *seeds, state="diverged"):
    """Runs of a row that diverged, of three."""
    cell = table["rows"][place]["cells"][0]
    cell.update(diverged={"seeds": list(seeds), "planned": 3}, state=state)
    return cell


def test_a_divergence_stands_beside_the_paper_s(table):
    lose(table, 4, 0, 1, 2)["paper"] = {"value": None, "se": None}
    line = lines(table)[ERROR, "Mixup"]
    assert (line.paper, line.ours, line.runs) == ("diverged", "diverged", "3 of 3")
    assert (line.difference, line.paper_gain, line.our_gain) == ("–", "–", "–")
    assert any(told.startswith("Diverged: ") for told in sheet(table, "").remarks)


def test_runs_that_diverge_among_others_are_counted_beside_the_mean(table):
    lose(table, 2, 1)  # two others have finished
    lose(table, 4, 2, state="waiting")
    found = lines(table)
    smoothing, mixup = found[ERROR, "Label smoothing"], found[ERROR, "Mixup"]
    assert (smoothing.ours, smoothing.runs) == ("29.75 ± 0.25 (1 diverged)", "3 of 3")
    assert (mixup.ours, mixup.runs) == ("diverged (partial)", "1 of 3")


def test_a_standard_error_of_zero_is_the_paper_s_less_than(table):
    line = lines(table)["ImageNet-1K: error, %", "ResNet-50"]
    assert (line.paper, line.difference) == ("22.62 ± <0.01", "−0.12")


def test_quoted_rows_name_their_source_once(table):
    assert lines(table)[ERROR, "Baseline"].quoted == "quoted: Zhang et al. (Mixup)"
    assert lines(table)[ERROR, "Baseline"].ours == "quoted, not run"
    table["rows"][0]["group"] = "Zhang et al. (Mixup)"
    assert lines(table)["Zhang et al. (Mixup): error, %", "Baseline"].quoted == "quoted"


def test_reasons_become_lettered_notes_each_once(table):
    table["rows"][4]["cells"][0]["why"] = "no small counterpart"
    found = sheet(table, "")
    no_set = "Put ImageNet-V2 into the data folder."
    assert found.notes == (("a", "No small counterpart."), ("b", no_set))
    marks = {line.label: line.mark for line in found.sections[0].lines}
    assert (marks["Mixup"], marks["PyramidNet-272"], marks["Hard crop"]) == ("a", "a", "")


def test_a_study_of_ours_is_called_so_and_a_figure_without_the_paper_s_numbers_is_not(table):
    names = ("budgets", "figure3")
    told = {name: like_for_like({**table, "name": name, "scale": "cpu"}) for name in names}
    assert told["budgets"] == "A study of ours: the paper has no numbers for it."
    assert "not like for like" in told["figure3"]


def test_only_other_scales_warn_that_the_difference_is_not_like_for_like(table):
    assert not any("like for like" in told for told in sheet(table, "").cautions)
    table["scale"] = "cpu"
    partial, scale = sheet(table, "partial: 14 of 18 runs").cautions
    assert partial == "Partial: 14 of 18 runs."
    assert "not like for like" in scale


def test_the_gain_of_an_accuracy_grows_with_it(table):
    soft, hard = table["rows"][3]["cells"][0], table["rows"][1]["cells"][0]
    assert our_gain({**soft, "measure": "accuracy"}, hard).mean == pytest.approx(-3)


def test_a_baseline_of_the_same_group_goes_before_its_namesake(table):
    theirs = {**table["rows"][1], "group": "Other"}
    table["rows"].insert(0, {**theirs, "cells": [{**theirs["cells"][0], "paper": None}]})
    assert lines(table)[ERROR, "Soft Augmentation"].paper_gain == "+2.49"
