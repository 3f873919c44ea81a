"""Pages of evaluations and comparisons: tables, figures, sentences, from the file's numbers."""

import io
import re

import factories
import pytest
from rich.console import Console

from softaug.lab.report import evaluation_figures as figures
from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.findings import write_cautions, write_findings
from softaug.lab.report.model import Section, Table
from softaug.lab.report.settings import environment_table, list_commands, recipe_tables
from softaug.lab.report.text import print_page
from softaug.lab.schema import Estimate, Interval, Verdict


@pytest.fixture
def comparison():
    return factories.make_comparison()


@pytest.fixture
def evaluation():
    return factories.make_evaluation()


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def tables_of(page):
    """All tables of the sections by name."""

    def inside(blocks):
        for block in blocks:
            if isinstance(block, Table):
                yield block.name, block
            elif isinstance(block, Section):
                yield from inside(block.blocks)

    return dict(pair for section in page.sections for pair in inside(section.blocks))


def tables(comparison):
    return tables_of(evaluation_page(comparison, "comparison.json"))


def change(record, **values):
    return record.model_copy(update=values)


def change_run(comparison, arm, place, **values):
    """Replace parts of one evaluation of a comparison."""
    found = comparison.arms[arm].evaluations
    found[place] = change(found[place], **values)


def test_the_main_table_shows_means_groups_and_the_best(comparison):
    table = tables(comparison)["all-measures"]
    assert [group.heading for group in table.groups] == ["Test images", "Part of the image hidden"]
    assert texts(table)[0] == ["Error, % ↓", "12.00 ± 2.00", "7.50 ± 1.50"]
    assert [cell.best for cell in table.rows[0][1:]] == [False, True]
    assert table.rows[0][1].csv == ("12.000000000000002", "2.0000000000000004", "2")
    assert "n = 2 seeds; 1,000 test images" in table.caption


def test_the_pair_table_shows_difference_intervals_and_verdict(comparison):
    first, *_, last = texts(tables(comparison)["pair-0"])
    assert first[1:3] == ["−4.50", "−10.85 to +1.85"]  # 12.706 standard errors of 0.5
    assert first[3:] == ["−4.00 (−6.25 to −1.75)", "▲ better (n = 2 seeds)"]
    assert last[3:] == ["–", "▼ worse (n = 2 seeds)"]


def test_equal_differences_have_no_interval_over_seeds(comparison):
    comparison.pairs[0].by_seed["error"] = Estimate(-0.045, 0.0, 2)
    assert texts(tables(comparison)["pair-0"])[0][1:3] == ["−4.50", "–"]


def test_every_run_class_and_temperature_has_a_row(comparison):
    found = tables(comparison)
    assert texts(found["every-run"])[3][:4] == ["soft", "1", "9.00", "0.180"]
    # cat: errors 0.10 and 0.14, NLL twice that; 0.06 and 0.09
    cat, _, owl = texts(found["every-class"])
    assert cat == ["cat", "10", "12.0", "0.240", "0.120", "7.5", "0.150", "0.075"]
    assert owl == ["owl", "0", *"––––––"]
    assert texts(found["temperature"])[0][2:] == [
        "1.250",
        "fitted on 100 images that were held out",
    ]


def test_calibration_before_and_after_of_every_figure(comparison):
    table = tables(comparison)["calibration-0"]
    heads = [column.head for column in table.columns]
    assert heads == ["Figure", "hard, before", "hard, after", "soft, before", "soft, after"]
    assert len(table.rows) == len(comparison.calibration) == 9
    assert texts(table)[0][1:3] == ["0.24 ± 0.04", "0.18 ± 0.03"]  # NLL: 0.20, 0.28; 0.15, 0.21
    assert texts(table)[-1][1:3] == ["+1.00 ± 0.00, over", "−2.00 ± 0.00, under"]


def test_only_sets_that_all_were_measured_on_are_compared(comparison, evaluation):
    extra = {**evaluation.test_sets, "new": change(evaluation.main_set, n=60)}
    change_run(comparison, 0, 0, test_sets=extra)
    assert "calibration-1" not in tables(comparison)
    alone = comparison_of_one(change(evaluation, test_sets=extra))
    assert tables(alone)["calibration-1"].caption.startswith("60 new images")
    names = {one.name for one in evaluation_page(alone, "").all_figures()}
    assert "reliability-extra-0-after-0-soft" in names


def test_settings_are_parted_by_what_differs(comparison):
    recipe = factories.make_recipe("soft", 1)
    recipe |= {"data": {"name": "pets", "validation": 5}, "mix": {"kind": "mixup"}}
    change_run(comparison, 1, 1, recipe=recipe)
    differing, shared = map(texts, recipe_tables(comparison.arms))
    assert ["loss.soften", "none", "both"] in differing
    assert ["data.validation", "0", "0 (seed 0); 5 (seed 1)"] in differing
    assert ["mix.kind", "–", "– (seed 0); mixup (seed 1)"] in differing
    assert ["model", "resnet8"] in shared
    assert "seed" not in [row[0] for row in differing + shared]


def test_commands_make_it_again(comparison):
    member = change(factories.make_member("hard"), folder="my runs/a; rm")
    change_run(comparison, 0, 0, members=[member, member])
    found = list_commands(comparison)
    assert found[0] == "softaug train 'my runs/a; rm/recipe.json' --out 'my runs/a; rm'"
    assert found[1].startswith("softaug train /runs/hard-seed1")  # each network once
    assert "softaug evaluate /runs/soft-seed0 --draws 2" in found
    assert found[-1] == comparison.command


def test_an_environment_tells_all_that_differ(comparison):
    other = {**factories.ENVIRONMENT, "torch": "3.0", "date": "2026-12-01"}
    found = dict(texts(environment_table([factories.ENVIRONMENT, other])))
    assert found["torch"] == "2.10.0; 3.0"
    assert found["commit"] == "not known"
    assert found["date"].endswith(" to 2026-12-01")


def test_three_sentences_tell_the_headline_the_largest_and_the_evidence(comparison):
    assert write_findings(comparison) == (
        "soft against hard: error −4.50 points (better), NLL −0.090 (no difference shown), "
        "ECE (15 bins) −2.25 points (no difference shown).",
        "The largest of all differences in points: error −4.50 points (better).",
        "Of 4 measures: 1 better, 1 worse and 2 no difference shown. Measured on 1,000 test "
        "images; over 2 seeds a difference must be more than 12.7 standard errors to be called "
        "better or worse.",
    )


def test_the_largest_loss_is_in_the_headline_whatever_the_measure(comparison):
    pair = comparison.pairs[0]
    pair.by_seed["occlusion/0.4"] = Estimate(-0.203, 0.001, 2)
    _, largest, _ = write_findings(comparison)
    assert "accuracy, 40% hidden −20.3 points (worse) and error −4.50 points (better)" in largest


def test_a_verdict_over_images_tells_the_difference_of_that_pair(comparison):
    pair = change(comparison.pairs[0], by_seed={}, seeds=[])
    pair.verdicts["error"] = Verdict("better", 1000, "images")
    first, *_, last = write_findings(change(comparison, pairs=[pair]))
    assert "error −4.00 points (better), NLL not known" in first
    assert "another seed may turn" in last


def test_one_evaluation_is_one_arm_without_pairs(evaluation):
    found = comparison_of_one(evaluation)
    assert found.pairs == []
    first, confidence, last = write_findings(found)
    assert first.startswith("soft: error 6.00 % (95 % interval over images 4.00 to 8.00), NLL")
    assert "over-confident by 1.00 points, after temperature scaling under-" in confidence
    assert last.startswith("Accuracy is 94.0 %, and 44.0 % at the last level of occlusion; meas")
    assert texts(tables(found)["all-measures"])[0][1] == "6.00 (4.00 to 8.00)"


def test_a_page_opens_with_the_picture_that_carries_its_message(comparison, evaluation):
    assert [one.name for one in evaluation_page(comparison, "").figures] == ["differences"]
    alone = evaluation_page(comparison_of_one(evaluation), "")
    names = [one.name for one in alone.figures]
    assert names == ["reliability-before-0-soft", "robustness-occlusion"]
    every = [one.name for one in alone.all_figures()]
    assert len(set(every)) == len(every), "no figure stands twice"


def test_differences_are_better_to_the_right_with_their_interval(comparison):
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 4))
    figures.difference_figure(comparison).draw(drawn, lambda index: f"C{index}")
    error, _, ece, hidden = drawn.axes
    line, dot = error.lines[1:]
    assert dot.get_xdata() == pytest.approx([4.5])  # the error fell by 4.5 points
    assert sorted(line.get_xdata()) == pytest.approx([-1.853, 10.853], abs=1e-3)
    assert hidden.lines[-1].get_xdata() == pytest.approx([4.5])  # an accuracy that rose
    assert "Accuracy, part of the image hidden, points" in [t.get_text() for t in hidden.texts]
    assert dot.get_markerfacecolor() != "none"
    assert ece.lines[-1].get_markerfacecolor() == "none"  # no difference shown


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
    rows = texts(figure.table)
    assert len(rows) == 20
    assert rows[0] == ["class 0", "100", "25.0", "0.0", "−25.0"]
    assert rows[-1][0] == "class 99"
    assert "50 of 100 classes better, 49 worse" in figure.caption
    confusion = figures.confusion_figures(arms)[1]
    assert texts(confusion.table)[0][:2] == ["class 99", "class 0"]


def test_what_a_pacer_set_is_drawn_by_epoch(comparison):
    for place in (0, 1):
        rows = [factories.make_row(5 * e, e, sigma=0.1 * e) for e in (1, 2, 3)]
        member = change(factories.make_member("soft", place), history=rows)
        change_run(comparison, 1, place, members=[member])
    found = {one.name: one for one in figures.training_figures(comparison.arms)}
    assert found["training-sigma"].alt == "Sigma, by epoch, soft: 0.3 at 3 (n = 2)."
    assert "which a pacer set for each epoch" in found["training-sigma"].caption
    assert "training-lr" not in found


def test_cards_show_the_answers_of_a_shared_seed(comparison):
    first = figures.whole_cards(comparison.arms)[0]
    assert (first.label, first.note) == ("cat", "test image 7")
    assert [(one.arm, one.correct, one.others) for one in first.answers] == [
        ("hard", True, "dog: 12.5 %"),
        ("soft", True, "dog: 12.5 %"),
    ]
    ((_, hidden),) = figures.occluded_cards(comparison.arms)
    assert (hidden.note, hidden.answers[0].correct) == ("40 % hidden", False)


def test_base64_that_is_no_picture_is_refused(evaluation):
    evaluation.examples.whole[0] = change(evaluation.examples.whole[0], png="AAAA")
    with pytest.raises(ValueError, match="must be PNG pictures"):
        figures.whole_cards(comparison_of_one(evaluation).arms)


def test_no_cautions_where_all_runs_are_alike(comparison):
    assert write_cautions(comparison) == ()


def test_cautions_where_runs_are_not_alike(comparison):
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
    assert found[3].endswith("fitted on 100 images that were held out; by halves.")
    assert found[4] == "Ensembles of different size are compared: 1 and 2 networks."
    assert found[5] == "Arms do not have the same seeds: hard 0, 2; soft 0, 1."


def test_the_split_that_was_measured_is_named(evaluation):
    sets = {"validation": evaluation.main_set}
    found = comparison_of_one(change(evaluation, split="validation", test_sets=sets))
    assert "1,000 validation images" in tables(found)["all-measures"].caption
    assert figures.whole_cards(found.arms)[0].note == "validation image 7"
    assert write_cautions(found)[0].startswith("All was measured on validation images, which were")


def printed(comparison, **options):
    console = Console(file=io.StringIO(), **options)
    print_page(evaluation_page(comparison, "comparison.json"), console)
    return console.file.getvalue()


def test_the_terminal_shows_tables_and_ends_with_what_they_say(comparison):
    text = printed(comparison, width=110, force_terminal=True, color_system=None)
    assert max(map(len, text.splitlines())) <= 110
    (row,) = [line for line in text.splitlines() if "12.00 ± 2.00" in line]
    assert re.split(r"\s{2,}", row.strip()) == ["Error, % ↓", "12.00 ± 2.00", "7.50 ± 1.50 *"]
    assert "▲ better (n = 2 seeds)" in text
    lines = [line for line in text.splitlines() if line]
    assert lines[-5].startswith("soft against hard: error −4.50 points (better)")


def test_what_is_piped_is_markdown(comparison):
    text = printed(comparison, width=40)
    assert "| Error, % ↓ | 12.00 ± 2.00 | **7.50 ± 1.50** |" in text


def test_intervals_over_images_are_written_out(comparison):
    comparison.pairs[0].by_image["nll"] = Interval(-0.1, -0.2, 0.05, 1000, 0.95)
    assert texts(tables(comparison)["pair-0"])[1][3] == "−0.100 (−0.200 to +0.050)"
