"""Figures: the numbers they draw, and that they keep to themselves on a page."""

import base64
import io
import re

import pytest
from PIL import Image

from softaug.lab.report.figures.curves import softening_curves
from softaug.lab.report.figures.offsets import axis_limit, drawn_offsets, mean_visible
from softaug.lab.report.figures.reliability import arm_bins, means, pool, reliability_diagram
from softaug.lab.report.figures.samples import Box, sample_view
from softaug.lab.report.palette import PAGE, SERIES


def test_reliability_is_pooled_by_count():
    edges = [0.0, 0.5, 1.0]
    few = {"edges": edges, "count": [0, 1], "confidence": [None, 0.6], "accuracy": [None, 0.0]}
    many = {"edges": edges, "count": [0, 3], "confidence": [0, 0.8], "accuracy": [0, 1.0]}
    (only,) = pool([few, many])
    assert (only.low, only.high, only.count) == (0.5, 1.0, 4)
    assert only.confidence == pytest.approx(0.75)  # (1 x 0.6 + 3 x 0.8) / 4
    assert only.accuracy == pytest.approx(0.75)


def test_means_over_all_predictions(results):
    confidence, accuracy = means(arm_bins(results["arms"][0]))
    assert confidence == pytest.approx(0.87)  # (10 x 0.6 + 90 x 0.9) / 100
    assert accuracy == pytest.approx(0.905)


def test_text_alternative_says_the_direction(results):
    assert "under-confident" in reliability_diagram(results["arms"][0], 0)


def test_mean_visible_share_of_the_draws(results):
    arm = {**results["arms"][0], "offsets": [[0, 0], [8, 0], [-8, 8]]}
    assert mean_visible(arm, 16) == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert axis_limit([arm], 16) == 9
    assert axis_limit([{**arm, "offsets": []}], 16) == 9
    assert axis_limit([{**arm, "offsets": [[-15, 0]]}], 16) == 16


def test_a_sample_shows_what_stays_and_where(results):
    sample = {**results["samples"][0], "dx": 3, "dy": -5}  # the window moves right and up
    view = sample_view(sample)
    assert view.kept == Box(3, 0, 13, 11)
    assert view.shown == Box(0, 5, 13, 11)


def test_samples_are_stored_without_loss(results):
    sample = results["samples"][0]
    encoded = sample_view(sample).original.removeprefix("data:image/png;base64,")
    picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    assert picture.size == (16, 16)
    assert [picture.getpixel((x, 7)) for x in range(16)] == sample["original"][7]


def test_the_run_s_own_k_is_named(results):
    svg = softening_curves(results["curves"], used_k=3.0)
    assert "k = 3 (this run)" in svg
    assert svg.count("this run") == 1


def test_colours_follow_the_page_and_have_a_fallback(results):
    svg = drawn_offsets(results["arms"][0], 0, 16, 9)
    assert "currentColor" in svg
    assert f"var(--series-0, {SERIES[0].light})" in svg
    assert "#0102" not in svg
    assert "DejaVu" not in svg


def test_a_global_matplotlib_style_changes_nothing(results):
    import matplotlib

    plain = softening_curves(results["curves"], 2.0)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30, "text.usetex": True}):
        assert softening_curves(results["curves"], 2.0) == plain


def luminance(colour):
    parts = [int(part, 16) / 255 for part in re.findall("[0-9a-f]{2}", colour)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_series_have_contrast_on_paper_and_panel(scheme):
    page = {colour.variable: getattr(colour, scheme) for colour in PAGE}
    marks = [getattr(colour, scheme) for colour in SERIES] + [page["--ink"], page["--muted"]]
    for ground in (page["--paper"], page["--panel"]):
        for mark in marks:
            dark, light = sorted((luminance(mark), luminance(ground)))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (mark, ground)
