"""Figures: what is on their axes, not their pixels."""

import math
import warnings

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from softaug.lab.report.exhibits.drawing import COLUMN, PAGE, legend_above
from softaug.lab.report.exhibits.equations import curves_of, softening_drawing
from softaug.lab.report.exhibits.panels import panels_drawing
from softaug.lab.report.exhibits.predictions import predictions_drawing
from softaug.lab.report.exhibits.ranges import opacity, ranges_drawing
from softaug.lab.report.figures.targets import NUM_CLASSES, TRUE, variants


def test_a_panel_draws_the_means_and_leaves_gaps_where_no_run_is_done(panels):
    (axes,) = panels_drawing(panels).figure().axes
    bars = axes.containers
    both = bars[3].lines[0].get_ydata()
    assert list(both[:4]) == [79, 75, 65, 44]
    assert math.isnan(both[4])
    assert bars[0].get_label() == "baseline"
    half = bars[0].lines[2][0].get_segments()[1]  # the second point's bar: 70 ± 0.6
    assert [y for _, y in half] == pytest.approx([69.4, 70.6])


def test_the_paper_s_points_are_hollow_and_named_last_in_the_legend(panels):
    figure = panels_drawing(panels).figure()
    (axes,), (legend,) = figure.axes, figure.legends
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_ydata()[4] for line in hollow] == [3.42, 18.98]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["baseline", "RandAugment", "Soft Augmentation", "both", "the paper’s"]


def test_lines_differ_without_their_colour(panels):
    (axes,) = panels_drawing(panels).figure().axes
    looks = [(bar.lines[0].get_linestyle(), bar.lines[0].get_marker()) for bar in axes.containers]
    assert len(set(looks)) == 4


def test_panels_of_one_measure_share_their_scale(panels):
    panels["panels"].append({**panels["panels"][0], "title": "two"})
    panels["panels"][1]["lines"] = [{**panels["panels"][0]["lines"][0], "mean": [-8.0] * 5}]
    drawing = panels_drawing(panels)
    first, second = drawing.figure().axes
    assert first.get_ylim() == second.get_ylim()
    assert first.get_ylim()[0] < -8
    assert (drawing.width, panels_drawing({**panels, "panels": panels["panels"][:1]}).width) == (
        PAGE,
        COLUMN,
    )


def test_offsets_fade_with_confidence_and_carry_their_errors(crops):
    hard, soft = ranges_drawing(crops).figure().axes
    dots = soft.collections[0]
    assert len(dots.get_offsets()) == 9
    assert list(dots.get_alpha()) == [opacity(share) for share in crops["crops"][1]["confidence"]]
    assert "ours: 31.00 ± 0.58\npaper’s: 20.80 ± 0.11" in hard.get_xlabel()
    assert "ours: waiting\npaper’s: 18.31 ± 0.17" in soft.get_xlabel()
    assert hard.get_title() == "Hard crop"
    assert hard.get_xlim() == soft.get_xlim() == (-33, 33)


def test_targets_are_those_of_the_equations():
    one_hot, smooth, target, weight, both = variants(confidence=0.6, alpha=0.1)
    assert one_hot.target == [float(place == TRUE) for place in range(NUM_CLASSES)]
    assert smooth.target[TRUE] == pytest.approx(0.9)
    assert smooth.target[0] == pytest.approx(0.1 / 9)
    assert target.target == both.target
    assert sum(target.target) == pytest.approx(1)
    assert weight.target == one_hot.target
    assert [v.weight for v in (one_hot, smooth, target, weight, both)] == [1, 1, 1, 0.6, 0.6]


def test_curves_are_equation_7():
    found = curves_of((1, 3))["confidence"]
    assert found["1"][50] == pytest.approx(1 - 0.99 * 0.5)
    assert found["3"][20] == pytest.approx(1 - 0.99 * 0.8**3)


def test_figure_2_shows_bars_and_a_curve_for_each_k():
    targets, curves = softening_drawing().figure().axes
    heights = [bar.get_height() / 0.72 for bar in targets.patches]
    assert heights[2 * NUM_CLASSES + TRUE] == pytest.approx(0.6)
    labels = [text.get_text() for text in curves.get_legend().get_texts()]
    assert labels == ["k = 1", "k = 2 (the paper’s)", "k = 3", "k = 4"]


def test_whole_images_carry_their_class_and_every_answer(examples):
    content, folder = examples
    axes = [a for a in predictions_drawing(content, folder).figure().axes if a.images]
    assert [a.get_title() for a in axes][1] == "dog\ntest image 8"
    assert [text.get_text() for text in axes[1].texts] == ["A ✓ dog, 75 %", "B ✓ dog, 75 %"]


def test_the_first_occluded_images_are_figure_4_the_others_figure_7(examples):
    content, folder = examples
    drawing = predictions_drawing({**content, "name": "figure4"}, folder)
    assert [[card.note for card in row] for row in drawing.cards] == [["0 % hidden", "40 % hidden"]]
    axes = [a for a in drawing.figure().axes if a.images]
    heads = [(a.get_ylabel(), a.get_title()) for a in axes]
    assert heads == [("cat", "0 % hidden"), ("", "40 % hidden")]
    assert [text.get_text() for text in axes[1].texts] == ["A ✗ dog, 50 %", "B ✗ dog, 50 %"]
    assert predictions_drawing({**content, "name": "figure7"}, folder) is None


def test_arms_that_saw_other_images_are_refused(examples, other_images):
    content, folder = examples
    other_images(folder / "runs/soft-seed0/evaluation.json")
    with pytest.raises(ValueError, match=r"figure6.*all must have the same examples"):
        predictions_drawing(content, folder)


def overlapping(figure):
    """Pairs of texts on a figure whose boxes meet."""
    texts = [text for axes in figure.axes for text in _texts(axes)]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts if t.get_text().strip()]
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


def test_no_text_lies_on_another(panels, crops, examples):
    content, folder = examples
    drawings = [panels_drawing(panels), ranges_drawing(crops), softening_drawing()]
    drawings.append(predictions_drawing(content, folder))
    for drawing in drawings:
        figure = drawing.figure("partial: 1 of 2 runs")
        assert overlapping(figure) == []


def test_panels_with_the_same_lines_share_a_legend_that_fits(panels):
    (first, *_), long = panels["panels"], "Soft Augmentation + RandAugment"
    lines = [{**line, "label": f"{long} {place}"} for place, line in enumerate(first["lines"])]
    same = {**panels, "panels": [{**first, "lines": lines}] * 3}
    figure = panels_drawing(same).figure()
    assert len(figure.legends) == 1
    assert all(axes.get_legend() is None for axes in figure.axes)
    drawn = figure.get_tightbbox()
    assert drawn.x0 >= 0
    assert drawn.x1 <= figure.get_figwidth()


@pytest.mark.parametrize(("label", "columns"), [("k = 2", 2), ("target-sigma0.05-k1", 1)])
def test_the_page_s_legend_has_the_columns_that_fit(label, columns):
    figure = Figure(figsize=(260 / 72, 3))
    lines = [Line2D([], [])] * 5
    legend = legend_above(figure, lines, [label] * 5)
    assert legend._ncols == columns
    assert legend.get_window_extent().width <= figure.bbox.width
    assert (figure.get_figheight() > 3) == (columns == 1)
    assert len(figure.legends) == 1


def test_nothing_is_cut_at_the_edges(panels, crops, examples):
    content, folder = examples
    occluded = predictions_drawing({**content, "name": "figure4"}, folder)
    drawings = [panels_drawing(panels), ranges_drawing(crops), softening_drawing(), occluded]
    drawings.append(predictions_drawing(content, folder))
    for figure in (drawing.figure() for drawing in drawings):
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(drawn.x0, drawn.y0) >= 0
        assert drawn.x1 <= width
        assert drawn.y1 <= height


def test_printed_fonts_are_embedded_and_nothing_warns(panels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = panels_drawing(panels).files("partial: 1 of 2 runs")
    assert b"/FontFile2" in files["pdf"]  # TrueType inside
    assert b"/Type3" not in files["pdf"]
