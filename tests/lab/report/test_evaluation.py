"""Pages of evaluations and comparisons: tables, figures, sentences, from the file's numbers."""

import io
import re

import factories
import pytest
from rich.console import Console

from softaug.lab.report import evaluation_figures as figures
from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.examples import occluded_cards, whole_cards
from softaug.lab.report.findings import write_cautions, write_findings
from softaug.lab.report.model import Section, Table
from softaug.lab.report.render import draw_figure, inline_svg
from softaug.lab.report.settings import difference_table, environment_table, list_commands
from softaug.lab.report.text import print_page
from softaug.lab.schema import Estimate, Verdict


@pytest.fixture
def comparison():
    return factories.make_comparison()


@pytest.fixture
def evaluation():
    return factories.make_evaluation()


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def tables(comparison):
    """All tables of a page's sections by name."""

    def inside(blocks):
        for block in blocks:
            if isinstance(block, Table):
                yield block.name, block
            elif isinstance(block, Section):
                yield from inside(block.blocks)

    return dict(inside(evaluation_page(comparison, "comparison.json").sections))


def change(record, **values):
    return record.model_copy(update=values)


def change_run(comparison, arm, place, **values):
    """Replace parts of one evaluation of a comparison."""
    found = comparison.arms[arm].evaluations
    found[place] = change(found[place], **values)


@pytest.mark.parametrize(
    ("name", "row", "cells"),
    [
        ("all-measures", 0, "Error, % ↓ | 12.00 ± 2.00 | 7.50 ± 1.50"),
        # by seed 12.706 standard errors of 0.5, then over images
        ("pair-0", 0, "Error, % ↓ | −4.50 | −10.85 to +1.85 | −4.00 (−6.25 to −1.75) | ▲ better"),
        ("pair-0", 3, "Accuracy, 40% hidden, % ↑ | +4.5 | −1.9 to +10.9 | – | ▼ worse"),
        ("every-run", 3, "soft | 1 | 9.00 | 0.180"),
        # errors 0.10 and 0.14, NLL twice that; 0.06 and 0.09
        ("every-class", 0, "cat | 10 | 12.0 | 0.240 | 0.120 | 7.5 | 0.150 | 0.075"),
        ("every-class", 2, "owl | 0 | – | – | – | – | – | –"),
        ("temperature", 0, "hard | 0 | 1.250 | fitted on 100 images that were held out"),
        # NLL of hard: 0.20, 0.28; after scaling 0.15, 0.21
        ("calibration-0", 0, "nll ↓ | 0.24 ± 0.04 | 0.18 ± 0.03"),
        ("calibration-0", 8, "gap ↓ | +1.00 ± 0.00, over | −2.00 ± 0.00, under"),
    ],
)
def test_tables_hold_numbers_of_the_file(comparison, name, row, cells):
    assert " | ".join(texts(tables(comparison)[name])[row]).startswith(cells)


def test_tables_name_groups_the_best_and_their_seeds(comparison):
    found = tables(comparison)
    table = found["all-measures"]
    assert list(table.groups) == ["Test images", "Part of the image hidden"]
    assert [cell.best for cell in table.rows[0][1:]] == [False, True]
    assert "n = 2 seeds; 1,000 test images" in table.caption
    heads = [column.title for column in found["calibration-0"].columns]
    assert heads == ["Figure", "hard, before", "hard, after", "soft, before", "soft, after"]
    comparison.pairs[0].by_seed["error"] = Estimate(-0.045, 0.0, 2)
    assert texts(tables(comparison)["pair-0"])[0][1:3] == ["−4.50", "–"], "equal differences"


def test_only_sets_that_all_were_measured_on_are_compared(comparison, evaluation):
    extra = {**evaluation.test_sets, "new": change(evaluation.main_set, n=60)}
    change_run(comparison, 0, 0, test_sets=extra)
    assert "calibration-1" not in tables(comparison)
    alone = comparison_of_one(change(evaluation, test_sets=extra))
    assert tables(alone)["calibration-1"].caption.startswith("60 new images")
    names = {one.name for one in evaluation_page(alone, "").all_figures()}
    assert "reliability-extra-0-after-0-soft" in names


def test_settings_commands_and_machines_make_it_again(comparison):
    recipe = factories.make_recipe("soft", 1)
    recipe |= {"data": {"name": "pets", "validation": 5}, "mix": {"kind": "mixup"}}
    change_run(comparison, 1, 1, recipe=recipe)
    differing = texts(difference_table(comparison.arms))
    assert ["loss.soften", "none", "both"] in differing
    assert ["data.validation", "0", "0 (seed 0); 5 (seed 1)"] in differing
    assert ["mix.kind", "–", "– (seed 0); mixup (seed 1)"] in differing
    assert not {"model", "seed", "name"} & {row[0] for row in differing}

    member = change(factories.make_member("hard"), folder="my runs/a; rm")
    change_run(comparison, 0, 0, members=[member, member])
    found = list_commands(comparison)
    assert found[0] == "softaug train 'my runs/a; rm/recipe.json' --out 'my runs/a; rm'"
    assert found[1].startswith("softaug train /runs/hard-seed1")  # each network once
    assert "softaug evaluate /runs/soft-seed0 --draws 2" in found
    assert found[-1] == comparison.command

    other = {**factories.ENVIRONMENT, "torch": "3.0", "date": "2026-12-01"}
    machines = dict(texts(environment_table([factories.ENVIRONMENT, other])))
    assert (machines["torch"], machines["commit"]) == ("2.10.0; 3.0", "not known")
    assert machines["date"].endswith(" to 2026-12-01")


def test_three_sentences_tell_the_headline_the_largest_and_the_evidence(comparison):
    assert write_findings(comparison) == (
        "soft against hard: error −4.50 points (better), NLL −0.090 (no difference shown), "
        "ECE (15 bins) −2.25 points (no difference shown).",
        "The largest differences in points: error −4.50 points (better). Of 4 measures: 1 better, "
        "1 worse (accuracy, 40% hidden +4.5 points) and 2 no difference shown.",
        "Measured on 1,000 test images; over 2 seeds a difference must be more than 12.7 standard "
        "errors to be called better or worse.",
    )
    comparison.pairs[0].by_seed["occlusion/0.4"] = Estimate(-0.203, 0.001, 2)
    _, largest, _ = write_findings(comparison)
    assert "accuracy, 40% hidden −20.3 points (worse) and error −4.50 points (better)" in largest


def test_evidence_that_is_the_same_for_several_pairs_is_written_once(comparison):
    twice = change(comparison, pairs=[*comparison.pairs, *comparison.pairs])
    *first, evidence = write_findings(comparison)
    assert write_findings(twice) == (*first, *first, evidence)


def test_a_metric_that_was_not_tested_is_no_largest_difference(comparison):
    comparison.pairs[0].verdicts["error"] = Verdict("not tested", 0, "seeds")
    _, largest, _ = write_findings(comparison)
    assert "error" not in largest


def test_a_verdict_over_images_tells_the_difference_of_that_pair(comparison):
    pair = change(comparison.pairs[0], by_seed={}, seeds=[])
    pair.verdicts["error"] = Verdict("better", 1000, "images")
    first, *_, last = write_findings(change(comparison, pairs=[pair]))
    assert "error −4.00 points (better), NLL not known" in first
    assert "another seed may reverse" in last


def test_one_evaluation_is_one_arm_without_pairs(evaluation):
    found = comparison_of_one(evaluation)
    assert found.pairs == []
    first, confidence, last = write_findings(found)
    assert first.startswith("soft: error 6.00 (4.00 to 8.00) %, NLL 0.120, ECE")
    assert "over-confident by 1.00 points, after temperature scaling under-" in confidence
    assert last.startswith("Accuracy is 94.0 %, and 44.0 % at the last level of occlusion; meas")
    assert texts(tables(found)["all-measures"])[0][1] == "6.00 (4.00 to 8.00)"
    sets = {"validation": evaluation.main_set}
    found = comparison_of_one(change(evaluation, split="validation", test_sets=sets))
    assert "1,000 validation images" in tables(found)["all-measures"].caption
    assert write_cautions(found)[0].startswith("All was measured on validation images, which were")


def test_what_all_names_begin_with_stands_once(comparison):
    arms = [change(arm, name=f"pets-vit-{arm.name}") for arm in comparison.arms]
    pair = change(comparison.pairs[0], arm="pets-vit-soft", against="pets-vit-hard")
    page = evaluation_page(change(comparison, arms=arms, pairs=[pair]), "")
    assert page.title == "soft against hard"
    assert page.lead.startswith("Recipes pets-vit-*: ")
    assert page.findings == evaluation_page(comparison, "").findings


def test_a_page_opens_with_the_picture_that_carries_its_message(comparison, evaluation):
    assert [one.name for one in evaluation_page(comparison, "").figures] == ["headline"]
    alone = evaluation_page(comparison_of_one(evaluation), "")
    names = [one.name for one in alone.figures]
    assert names == ["reliability-before-0-soft", "robustness-occlusion"]
    every = [one.name for one in alone.all_figures()]
    assert len(set(every)) == len(every), "no figure stands twice"


def test_the_headline_has_a_panel_for_each_of_its_metrics_and_the_largest(comparison):
    comparison.pairs[0].by_seed["occlusion/0.4"] = Estimate(-0.203, 0.001, 2)
    drawn = draw_figure(figures.headline_figure(comparison))
    titles = ["Error, points", "NLL", "ECE (15 bins), points", "Accuracy, 40% hidden,\npoints"]
    assert [axes.get_title() for axes in drawn.axes] == titles
    _, dot, _ = drawn.axes[0].lines
    assert dot.get_xdata() == pytest.approx([4.5])  # to the right: the error fell
    assert drawn.axes[0].xaxis.get_major_formatter()(4.5, None) == "−4.5"


def test_differences_are_better_to_the_right_with_their_interval(comparison):
    error, _, ece, hidden = draw_figure(figures.difference_figure(comparison)).axes
    line, dot = error.lines[1:]
    assert dot.get_xdata() == pytest.approx([4.5])  # the error fell by 4.5 points
    assert sorted(line.get_xdata()) == pytest.approx([-1.853, 10.853], abs=1e-3)
    assert hidden.lines[-1].get_xdata() == pytest.approx([4.5])  # an accuracy that rose
    assert "Accuracy, part of the image hidden, points" in [t.get_text() for t in hidden.texts]
    assert dot.get_markerfacecolor() != "none"
    assert ece.lines[-1].get_markerfacecolor() == "none"  # no difference shown
    assert dot.get_marker() != ece.lines[-1].get_marker(), "told apart without color"


def test_bins_of_seeds_are_pooled_by_count(comparison):
    bins = figures.pool_bins(comparison.arms[0], "test", "before")
    assert [(part.count, part.confidence, part.accuracy) for part in bins] == [
        (40, 0.625, 0.5),
        (160, 0.875, pytest.approx(0.9)),
    ]


def test_classes_that_change_most_are_shown(comparison):
    many = factories.make_many_classes()
    flat = change(many.per_class, error=[0.25] * 100)
    other = change(many, per_class=flat, name="hard")
    arms = [
        change(arm, evaluations=[one], seeds=[0])
        for arm, one in zip(comparison.arms, (other, many), strict=True)
    ]
    (figure,) = figures.change_figures(change(comparison, arms=arms))
    shown = re.findall(r"(class \d+) ([+-]\d+\.\d)", figure.alt)
    assert len(shown) == 20
    assert (shown[0], shown[-1]) == (("class 0", "-25.0"), ("class 99", "+24.5"))
    assert "50 of 100 classes better, 49 worse" in figure.caption
    confusion = figures.confusion_figures(arms)[1]
    assert "class 99 for class 0 (99 of 189)" in confusion.caption
    assert inline_svg(confusion).count("data:image/png") == 2, "a picture, not 10,000 squares"


def test_cards_show_the_answers_of_a_shared_seed(comparison):
    first = whole_cards(comparison.arms)[0][0]
    assert (first.label, first.note) == ("cat", "test image 7")
    assert first.lines == ("A ✓ cat, 75 %", "B ✓ cat, 75 %")
    ((_, hidden),) = occluded_cards(comparison.arms)
    assert (hidden.note, hidden.lines[0]) == ("40 % hidden", "A ✗ dog, 50 %")
    whole = comparison.arms[0].evaluations[0].examples.whole
    whole[0] = change(whole[0], png="AAAA")
    with pytest.raises(ValueError, match="must be PNG pictures"):
        whole_cards(comparison.arms)


def test_cautions_where_runs_are_not_alike(comparison):
    assert write_cautions(comparison) == ()
    recipe = {**factories.make_recipe("soft", 1), "model": "resnet20"}
    run = comparison.arms[1].evaluations[1]
    corruptions = {"occlusion": change(run.corruptions["occlusion"], draws=3)}
    temperature = change(run.temperature, how="by halves")
    member = change(run.members[0], step=1200, num_steps=1500, finished=False)
    parts = {"recipe": recipe, "corruptions": corruptions, "temperature": temperature}
    change_run(comparison, 1, 1, **parts, members=[member, member])
    arms = [change(comparison.arms[0], seeds=[0, 2]), comparison.arms[1]]
    found = write_cautions(change(comparison, arms=arms))
    assert found[0].startswith("Training was not finished: soft, seed 1, at step 1,200 of 1,500")
    assert found[1:3] == (
        "Runs of soft differ in more than the seed: model.",
        "Corruptions were drawn 2 and 3 times, not alike in all runs.",
    )
    assert found[3].endswith("fitted on 100 images that were held out and by halves.")
    assert found[4] == "Ensembles of different size are compared: 1 and 2 networks."
    assert found[5] == "Arms do not have the same seeds: hard 0, 2; soft 0, 1."


def test_the_terminal_shows_tables_and_ends_with_what_they_say(comparison):
    console = Console(file=io.StringIO(), width=110, force_terminal=True, color_system=None)
    print_page(evaluation_page(comparison, "comparison.json"), console)
    lines = [line for line in console.file.getvalue().splitlines() if line]
    assert max(map(len, lines)) <= 110
    (row,) = [line for line in lines if "12.00 ± 2.00" in line]
    assert re.split(r"\s{2,}", row.strip()) == ["Error, % ↓", "12.00 ± 2.00", "7.50 ± 1.50 *"]
    assert lines[-6].startswith("soft against hard: error −4.50 points (better)")
