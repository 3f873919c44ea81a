"""The commands `softaug curves fit` and `softaug curves confusion`, their plots and tables."""

import io
import json
import sys
from contextlib import redirect_stdout

import pytest
import torch
from matplotlib.figure import Figure
from rich.console import Console

from softaug.lab.curves.cli import (
    curves_command,
    draw_fit,
    fit_table,
    naive_retained,
)
from softaug.lab.curves.fit import OperationFit
from softaug.lab.data.prior import read_prior
from softaug.transforms.curves import Curve, read_curves

DIGITS = tuple("0123456789")
FEW = ["--device", "cpu", "--images", "100"]


@pytest.fixture(scope="module")
def fitted(runs, tmp_path_factory):
    """The folder where two operations and the crop were fitted, and what was printed."""
    out = tmp_path_factory.mktemp("fitted") / "mine.json"
    options = ["--levels", "3", "--operations", "rotate", "brightness", "crop"]
    arguments = ["fit", str(runs.held), "--out", str(out), *FEW, *options]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed):
        patched.setattr(sys, "argv", ["softaug", "curves", *arguments])
        patched.setenv("COLUMNS", "80")
        curves_command(arguments)
    return out, printed.getvalue()


def test_curves_can_be_read_back_and_the_file_says_how_it_was_made(fitted, runs):
    curves = read_curves(fitted[0])
    assert list(curves) == ["rotate", "brightness", "crop"]
    assert (curves["rotate"].of, curves["crop"].of) == ("strength", "visible")
    assert curves["crop"].loss == 1
    about = json.loads(fitted[0].read_text())["about"]
    assert about["command"].startswith(f"softaug curves fit {runs.held} --out")
    assert (about["images"], about["draws"], about["split"]) == (100, 1, "held-out")
    assert about["runs"][0]["recipe"]["seed"] == 0
    assert {"commit", "date", "cpu", "torch"} <= about["environment"].keys()
    points = about["points"]["rotate"]
    assert points["x"] == [0.3333, 0.6667, 1.0]
    assert len(points["accuracy"]) == len(points["retained_error"]) == 3
    assert about["fill"] == {"crop": [78, 78, 78], "operations": 0}  # the digits' mean
    lines = [line for line in fitted[1].splitlines() if line.startswith("│")]
    assert [line.split()[1] for line in lines] == ["rotate", "brightness", "crop"]
    assert f" {curves['brightness'].loss:.3f} " in lines[1]
    assert fitted[0].with_suffix(".png").stat().st_size < 150_000


def test_curves_may_be_of_each_class_or_tables_of_the_measured_points(runs, tmp_path):
    out = tmp_path / "curves.json"
    operations = ["--operations", "translate-x", "crop", "--levels", "3"]
    fit = ["fit", str(runs.held), "--out", str(out), *FEW, *operations]
    curves_command([*fit, "--per-class"])
    assert len(read_curves(out)["translate-x"].k) == 10
    curves_command([*fit, "--table"])
    curves, points = read_curves(out), json.loads(out.read_text())["about"]["points"]
    for name, curve in curves.items():
        assert curve.lost == pytest.approx((0, 1 / 3, 2 / 3, 1), abs=1e-5)
        assert curve.retained[0] == 1
        assert points[name]["misfit"] < 0.05


def test_a_prior_comes_from_confusions_and_serves_these_classes(runs, tmp_path):
    out = tmp_path / "prior.json"
    smooth = ["--visible", "0.4", "--smoothing", "0.2"]
    curves_command(["confusion", str(runs.held), "--out", str(out), *FEW, *smooth])
    prior = read_prior(str(out), DIGITS)
    assert prior.shape == (10, 10)
    assert float(prior.min()) >= 0.02 - 1e-6, "the smoothing's share"
    assert torch.equal(prior.diagonal(), prior.max(1).values)
    about = json.loads(out.read_text())["about"]
    assert (about["visible"], about["smoothing"]) == (0.4, 0.2)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["fit", "run", "--levels", "1"], "levels must be a whole number >= 2"),
        (["fit", "run", "--operations", "rotat"], "did you mean 'rotate'"),
        (["fit", "run", "--out", "curves.txt"], "ending of out must be one of '.json'"),
        (["fit", "nowhere"], "nowhere must be a run's folder"),
        (["fit", "run", "--table", "--per-class"], "exclude each other, got both; leave out one"),
        (["confusion"], "at least one run must be given"),
        (["confusion", "run", "--visible", "1.5"], "visible must be a number in 0..1"),
        (["confusion", "run", "--smoothing", "-1"], "smoothing must be a number in 0..1"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        curves_command(arguments)


X = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)


def fit(of="strength", k=2.0):
    points = [0.5, 1.0], [0.6, 0.2], [0.01, 0.01], [0.75, 0.1], [0.02, 0.03]
    return OperationFit(Curve(of, 0.9, k), 0.9, 2.0, 0.012, None, 0.02, *points)


def test_the_naive_rule_is_the_crop_rule():
    for name in ("crop", "color", "translate-x"):
        assert naive_retained(name, X, edge=32).tolist() == pytest.approx([1, 0.75, 0], abs=1e-6)
    assert naive_retained("rotate", X, edge=32)[0] == 1


def test_a_plot_shows_points_with_errors_the_curve_and_the_naive_one():
    axes = Figure().add_subplot()
    draw_fit(axes, "color", fit(k=(1.0, 3.0)), edge=32)
    naive, fitted = axes.get_lines()[:2]
    assert naive.get_linestyle() == "--"
    assert float(fitted.get_ydata()[-1]) == pytest.approx(0.1)  # the common k, loss 0.9
    (bars,) = axes.containers
    low, high = bars[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((0.75 - 0.04, 0.75 + 0.04))


def test_the_table_shows_errors_and_bounds_and_cuts_no_name_at_80_columns():
    console = Console(file=io.StringIO(), width=80)
    console.print(fit_table({"translate-x": fit(), "crop": fit("visible")}, 0.8))
    row = next(line for line in console.file.getvalue().splitlines() if "translate-x" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["translate-x", "0.900 ± 0.012", "2.000 (bound)", "0.020", "20.0"]
