"""Tables and figures of a grid: the paper's numbers, ours, gains, marks, notes, drawings."""

import math

import factories
import pytest

from softaug.lab.report.charts import add_legend_above
from softaug.lab.report.paper import (
    describe_progress,
    gain_figure,
    number_table,
    paper_page,
    write_findings,
)
from softaug.lab.report.paper_figures import (
    COLUMN,
    PAGE,
    TARGETS,
    opacity,
    print_figure,
    read_cards,
    softening_curve,
)
from softaug.lab.report.paper_numbers import our_gain
from softaug.lab.report.render import draw_for_print
from softaug.lab.schema import DivergedRuns, PublishedNumber

ERROR, ECE = "CIFAR-100: error, %", "CIFAR-100: calibration error (ECE), %"


@pytest.fixture
def table():
    return factories.make_table()


@pytest.fixture
def panels():
    return factories.make_panels()


@pytest.fixture
def crops():
    return factories.make_crops()


@pytest.fixture
def examples(tmp_path):
    """Figure 6 of two evaluated runs, and the folder that holds them."""
    runs = [f"runs/{name}-seed0" for name in ("hard", "soft")]
    for run, name in zip(runs, ("hard", "soft"), strict=True):
        evaluation = factories.make_evaluation(name, 0, 0.1)
        factories.save(evaluation, tmp_path / run / "evaluation.json")
    labels = ["Baseline", "Soft Augmentation"]
    return factories.make_collected("figure6", title="Answers", labels=labels, runs=runs), tmp_path


def change(record, **values):
    return record.model_copy(update=values)


def change_cell(table, row, **values):
    """Replace parts of the first cell of a row."""
    cells = table.rows[row].cells
    cells[0] = change(cells[0], **values)


def lines(table):
    """{(heading, label): {column: text}}."""
    found = number_table(table)
    heads = [column.title for column in found.columns]
    return {
        (group.heading, row[0].text): dict(zip(heads, (c.text for c in row), strict=True))
        for group in found.groups
        for row in group.rows
    }


def test_sections_follow_groups_and_measures_in_the_order_of_the_file(table):
    headings = [group.heading for group in number_table(table).groups]
    photos = ["ImageNet-1K: error, %", "ImageNet-1K: error on ImageNet-V2, %"]
    assert headings == [ERROR, ECE, *photos]
    table.rows[-1] = change(table.rows[-1], group="ImageNet-V2")
    assert number_table(table).groups[-1].heading == "ImageNet-V2: error, %"


def test_a_row_has_both_numbers_their_difference_and_both_gains(table):
    # ours 27, 29, 28 against 30, 31, 32: 3, 2 and 4 points better, seed by seed
    assert lines(table)[ERROR, "Soft Augmentation"] == {
        "Row": "Soft Augmentation",
        "Paper’s": "18.31 ± 0.17",
        "Ours": "28.00 ± 0.58",
        "Runs": "3 of 3",
        "Ours − paper’s": "+9.69",
        "Gain, paper’s": "+2.49",
        "Gain, ours": "+3.00 ± 0.58",
    }
    ece = lines(table)[ECE, "Soft Augmentation"]
    assert (ece["Gain, paper’s"], ece["Gain, ours"]) == ("+3.10", "+3.00 ± 0.58")


def test_a_trial_shows_no_difference_to_the_paper_and_says_what_was_run(table, tmp_path):
    rows = [change(row, ran="resnet8 on digits, 1 epoch") for row in table.rows]
    trial = change(table, scale="smoke", rows=rows)
    assert "Ours − paper’s" not in lines(trial)[ERROR, "Soft Augmentation"]
    page = paper_page(trial, tmp_path)
    assert page.lead == "Scale “smoke”. What was run: resnet8 on digits, 1 epoch."
    assert page.findings == ("A trial that every row can be run; its numbers are no evidence.",)


def test_without_numbers_of_the_paper_s_there_are_no_columns_for_them(tmp_path):
    study = factories.make_study()
    assert lines(study)[ERROR, "soft"] == {
        "Row": "soft",
        "Ours": "28.00 ± 0.58",
        "Runs": "3 of 3",
        "Gain over baseline": "+3.00 ± 0.58",
    }
    page = paper_page(study, tmp_path)
    assert page.cautions == ("A study of ours: the paper has no numbers for it.",)
    assert "paper" not in number_table(study).caption


def test_a_quoted_number_has_no_gain_over_another_source_s_baseline(table):
    other = PublishedNumber(value=18.31, se=0.17, source="another paper")
    change_cell(table, 3, paper=other)
    line = lines(table)[ERROR, "Soft Augmentation"]
    assert (line["Gain, paper’s"], line["Gain, ours"]) == ("–", "+3.00 ± 0.58")


def test_a_baseline_of_the_same_group_goes_before_its_namesake(table):
    namesake = change(table.rows[1], group="Other", cells=[factories.cell(state="waiting")])
    table.rows.insert(0, namesake)
    assert lines(table)[ERROR, "Soft Augmentation"]["Gain, paper’s"] == "+2.49"


@pytest.mark.parametrize(
    ("label", "ours", "difference", "gain"),
    [
        ("Hard crop", "31.00 ± 0.58", "+10.20", "–"),
        ("Label smoothing", "29.75 ± 0.25 (partial)", "+10.28", "+1.25"),
        ("Mixup", "waiting", "–", "–"),
        ("PyramidNet-272", "not at this scale", "–", "–"),
        ("TrivialAugment alone", "30.00 ± 0.58", "–", "+1.00 ± 0.00"),
        ("Baseline", "quoted, not run", "–", "–"),
    ],
)
def test_what_is_partial_or_missing_is_said_in_words(table, label, ours, difference, gain):
    line = lines(table)[ERROR, label]
    assert (line["Ours"], line["Ours − paper’s"], line["Gain, ours"]) == (ours, difference, gain)


def lose(table, place, *seeds, state="diverged", **more):
    """Runs of a row that diverged, of three."""
    lost = DivergedRuns(seeds=list(seeds), planned=3)
    change_cell(table, place, diverged=lost, state=state, **more)


def test_a_divergence_stands_beside_the_paper_s(table):
    lose(table, 4, 0, 1, 2, paper=factories.paper(None))
    line = lines(table)[ERROR, "Mixup"]
    assert (line["Paper’s"], line["Ours"], line["Runs"]) == ("diverged", "diverged", "3 of 3")
    assert "Diverged: " in number_table(table).caption


def test_runs_that_diverge_among_others_are_counted_beside_the_mean(table):
    lose(table, 2, 1)  # two others have finished
    lose(table, 4, 2, state="waiting")
    found = lines(table)
    assert found[ERROR, "Label smoothing"]["Ours"] == "29.75 ± 0.25 (1 diverged)"
    assert found[ERROR, "Mixup"]["Ours"] == "diverged (partial)"


def test_a_standard_error_of_zero_is_the_paper_s_less_than(table):
    line = lines(table)["ImageNet-1K: error, %", "ResNet-50"]
    assert (line["Paper’s"], line["Ours − paper’s"]) == ("22.62 ± <0.01", "−0.12")


def test_quoted_rows_name_their_source_once(table):
    assert number_table(table).rows[0][0].source == "quoted: Zhang et al. (Mixup)"
    table.rows[0] = change(table.rows[0], group="Zhang et al. (Mixup)")
    assert number_table(table).rows[0][0].source == "quoted"


def test_reasons_become_lettered_notes_each_once(table):
    change_cell(table, 4, why="no small counterpart")
    found = number_table(table)
    no_set = "Put ImageNet-V2 into the data folder."
    assert found.notes == (("a", "No small counterpart."), ("b", no_set))
    marks = {row[0].text: row[2].note for row in found.groups[0].rows}
    assert (marks["Mixup"], marks["PyramidNet-272"], marks["Hard crop"]) == ("a", "a", "")


def test_only_other_scales_warn_that_the_difference_is_not_like_for_like(table, tmp_path):
    assert not any("like for like" in told for told in paper_page(table, tmp_path).cautions)
    partial, scale = paper_page(change(table, scale="cpu"), tmp_path).cautions
    assert partial == "Partial: 14 of 18 runs; numbers without data: 1."
    assert "not like for like" in scale


def test_the_gain_of_an_accuracy_grows_with_it(table):
    soft, hard = table.rows[3].cells[0], table.rows[1].cells[0]
    assert our_gain(change(soft, measure="accuracy"), hard).mean == pytest.approx(-3)


def test_sentences_tell_our_largest_gain_and_the_paper_s_direction(table):
    assert write_findings(table) == (
        "Our largest difference to a baseline row: Soft Augmentation, CIFAR-100: error, "
        "+3.00 ± 0.58 points.",
        "Of 3 gains that the paper has too, 3 have the paper’s direction here.",
    )


def test_a_table_opens_with_bars_of_the_paper_s_gain_and_ours(table, tmp_path):
    (figure,) = paper_page(table, tmp_path).figures
    axes = draw_for_print(figure).axes[0]
    paper, ours = axes.containers[0], axes.containers[-1]
    assert [bar.get_width() for bar in paper][:2] == pytest.approx([1.33, 2.49])
    assert [bar.get_width() for bar in ours][:2] == pytest.approx([1.25, 3.0])
    assert "Soft Augmentation: the paper’s +2.49, ours +3.00" in figure.alt
    assert gain_figure(factories.make_collected("figure2")) is None


def test_runs_are_counted_once_for_each_recipe(table, tmp_path):
    # hard 3, smoothing 2 of 3, soft 3, mixup 0 of 3, trivial 3, resnet 3, its second images none
    table.rows.append(change(table.rows[1], group="again"))
    assert describe_progress(table, tmp_path).startswith("partial: 14 of 18 runs")
    waiting = change(table, rows=[table.rows[4]])
    assert describe_progress(waiting, tmp_path) == "partial: no run has finished yet"
    assert describe_progress(change(table, complete=True), tmp_path) == ""


def test_runs_that_diverged_are_missing_unless_the_paper_s_did(table, tmp_path):
    lose(table, 4, 0, 1, 2)
    assert describe_progress(table, tmp_path).startswith("partial: 14 of 18 runs; diverged: 3;")
    change_cell(table, 4, paper=factories.paper(None))
    assert describe_progress(table, tmp_path).startswith("partial: 17 of 18 runs; numbers")


def test_examples_count_the_arms_that_are_evaluated(examples):
    content, folder = examples
    (folder / "runs/soft-seed0/evaluation.json").unlink()
    assert describe_progress(change(content, complete=False), folder) == "partial: 1 of 2 runs"


# Drawings: what is on their axes, not their pixels.


def drawn(table, folder="."):
    return draw_for_print(print_figure(table, folder))


def test_a_panel_draws_means_bars_gaps_and_the_paper_s_points(panels):
    figure = drawn(panels)
    (axes,), (legend,) = figure.axes, figure.legends
    bars = axes.containers
    both = bars[3].lines[0].get_ydata()
    assert list(both[:4]) == [79, 75, 65, 44]
    assert math.isnan(both[4])
    half = bars[0].lines[2][0].get_segments()[1]  # the second point's bar: 70 ± 0.6
    assert [y for _, y in half] == pytest.approx([69.4, 70.6])
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_ydata()[4] for line in hollow] == [3.42, 18.98]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["baseline", "RandAugment", "Soft Augmentation", "both", "the paper’s"]
    looks = [(bar.lines[0].get_linestyle(), bar.lines[0].get_marker()) for bar in bars]
    assert len(set(looks)) == 4, "lines differ without their color"


def test_panels_of_one_measure_share_their_scale(panels):
    low = change(panels.panels[0].lines[0], mean=[-8.0] * 5)
    second = change(panels.panels[0], title="two", lines=[low])
    both = change(panels, panels=[panels.panels[0], second])
    first, other = drawn(both).axes
    assert first.get_ylim() == other.get_ylim()
    assert first.get_ylim()[0] < -8
    assert (print_figure(both, ".").width, print_figure(panels, ".").width) == (PAGE, COLUMN)


def test_offsets_fade_with_confidence_and_carry_their_errors(crops):
    hard, soft = drawn(crops).axes
    dots = soft.collections[0]
    assert len(dots.get_offsets()) == 9
    assert list(dots.get_alpha()) == [opacity(share) for share in crops.crops[1].confidence]
    assert "ours: 31.00 ± 0.58\npaper’s: 20.80 ± 0.11" in hard.get_xlabel()
    assert "ours: waiting\npaper’s: 18.31 ± 0.17" in soft.get_xlabel()
    assert hard.get_xlim() == soft.get_xlim() == (-33, 33)


def test_targets_and_curves_are_those_of_the_equations():
    one_hot, smooth, target, weight, both = TARGETS
    assert one_hot.probabilities == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert smooth.probabilities[0] == pytest.approx(0.1 / 9)
    assert target.probabilities == both.probabilities
    assert sum(target.probabilities) == pytest.approx(1)
    assert weight.probabilities == one_hot.probabilities
    assert [one.weight for one in TARGETS] == [1, 1, 1, 0.6, 0.6]
    assert softening_curve(3)[20] == pytest.approx(1 - 0.99 * 0.8**3)
    _, curves = drawn(factories.make_collected("figure2")).axes
    labels = [text.get_text() for text in curves.get_legend().get_texts()]
    assert labels == ["k = 1", "k = 2 (the paper’s)", "k = 3", "k = 4"]


def test_images_carry_their_class_and_every_answer(examples):
    content, folder = examples
    axes = [a for a in drawn(content, folder).axes if a.images]
    assert axes[1].get_title() == "dog\ntest image 8"
    assert [text.get_text() for text in axes[1].texts] == ["A ✓ dog, 75 %", "B ✓ dog, 75 %"]
    occluded = change(content, name="figure4")
    axes = [a for a in drawn(occluded, folder).axes if a.images]
    heads = [(a.get_ylabel(), a.get_title()) for a in axes]
    assert heads == [("cat", "0 % hidden"), ("", "40 % hidden")]
    assert print_figure(change(content, name="figure7"), folder) is None


def test_arms_that_saw_other_images_are_refused(examples):
    content, folder = examples
    file = folder / "runs/soft-seed0/evaluation.json"
    place = ("examples", "whole", 0, "index")
    file.write_text(factories.change(factories.make_evaluation("soft", 0, 0.1), place, 99))
    with pytest.raises(ValueError, match="all must have the same examples"):
        read_cards(content, folder)


def overlapping(figure):
    """Pairs of texts on a figure whose boxes meet."""
    found = [text for axes in figure.axes for text in _texts(axes)]
    boxes = [(t.get_text(), t.get_window_extent()) for t in found if t.get_text().strip()]
    return [
        (first, second)
        for place, (first, box) in enumerate(boxes)
        for second, other in boxes[place + 1 :]
        if box.shrunk(0.9, 0.7).overlaps(other.shrunk(0.9, 0.7))
    ]


def _texts(axes):
    legend = axes.get_legend()
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    labels = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *ticks]
    return labels + (legend.get_texts() if legend else [])


def test_no_text_lies_on_another_and_nothing_is_cut(panels, crops, examples):
    content, folder = examples
    softening = factories.make_collected("figure2")
    for table in (panels, crops, softening, content, change(content, name="figure4")):
        figure = draw_for_print(print_figure(table, folder), "partial: 1 of 2 runs")
        assert overlapping(figure) == []
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= width
        assert box.y1 <= height


@pytest.mark.parametrize(("label", "columns"), [("short", 2), ("a label of many words" * 2, 1)])
def test_a_legend_above_takes_the_columns_that_fit(label, columns):
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(3.6, 3), layout="constrained")
    legend = add_legend_above(figure, [Line2D([], [])] * 4, [label] * 4)
    assert legend._ncols == columns
    assert (figure.get_figheight() > 3) == (columns == 1)
