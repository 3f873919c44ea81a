import hashlib
import io
import json
import sys
from contextlib import redirect_stdout

import pytest
import torch

from softaug.lab.curves.cli import curves_command
from softaug.lab.data.cifar import RELEASES
from softaug.lab.data.images import ImageData, load
from softaug.lab.data.prior import read_prior
from softaug.transforms.curves import read_curves

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


def test_the_table_shows_every_operation(fitted):
    lines = [line for line in fitted[1].splitlines() if line.startswith("│")]
    assert [line.split()[1] for line in lines] == ["rotate", "brightness", "crop"]
    curve = read_curves(fitted[0])["brightness"]
    assert f"{curve.loss:.3f}" in lines[1]
    assert f"{curve.k:.2f}" in lines[1]


def test_there_is_a_plot_for_each_operation_and_one_of_all(fitted):
    folder = fitted[0].with_suffix("")
    made = {path.name for path in folder.iterdir()}
    assert made == {"rotate.svg", "brightness.svg", "crop.svg", "overview.png"}
    assert all(path.stat().st_size < 150_000 for path in folder.iterdir())


def test_per_class_writes_one_k_for_each_class(runs, tmp_path, capsys):
    out = tmp_path / "curves.json"
    operations = ["--operations", "translate-x", "--levels", "3"]
    curves_command(["fit", str(runs.held), "--per-class", "--out", str(out), *FEW, *operations])
    k = read_curves(out)["translate-x"].k
    assert len(k) == 10
    assert "k of" in capsys.readouterr().out


def test_a_table_is_of_the_measured_points(runs, tmp_path):
    out = tmp_path / "curves.json"
    operations = ["--operations", "translate-x", "crop", "--levels", "3"]
    curves_command(["fit", str(runs.held), "--table", "--out", str(out), *FEW, *operations])
    curves, points = read_curves(out), json.loads(out.read_text())["about"]["points"]
    for name, curve in curves.items():
        assert curve.lost == pytest.approx((0, 1 / 3, 2 / 3, 1), abs=1e-5)
        assert curve.retained[0] == 1
        assert points[name]["misfit"] < 0.05


def test_a_prior_comes_from_confusions_and_serves_these_classes(runs, tmp_path, capsys):
    out = tmp_path / "prior.json"
    smooth = ["--visible", "0.4", "--smoothing", "0.2"]
    curves_command(["confusion", str(runs.held), "--out", str(out), *FEW, *smooth])
    prior = read_prior(str(out), DIGITS)
    assert prior.shape == (10, 10)
    assert float(prior.min()) >= 0.02 - 1e-6, "the smoothing's share"
    assert torch.equal(prior.diagonal(), prior.max(1).values)
    about = json.loads(out.read_text())["about"]
    assert (about["visible"], about["smoothing"]) == (0.4, 0.2)
    assert "taken for" in capsys.readouterr().out


def test_a_coarse_prior_needs_no_run(tmp_path, monkeypatch):
    names = tuple(f"class{label}" for label in range(100))
    sha256 = hashlib.sha256("\n".join(names).encode()).hexdigest()
    monkeypatch.setitem(RELEASES["cifar100"].names_sha256, "fine", sha256)
    data = ImageData(load("digits").train, None, names)
    monkeypatch.setattr("softaug.lab.curves.cli.load", lambda name, data_dir: data)
    out = tmp_path / "prior.json"
    curves_command(["confusion", "--coarse", "--out", str(out)])
    assert read_prior(str(out), names)[0].unique().tolist() == pytest.approx([0.001, 0.181])


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["fit"], "at least one run must be given"),
        (["fit", "run", "--levels", "1"], "levels must be a whole number >= 2"),
        (["fit", "run", "--operations", "rotat"], "did you mean 'rotate'"),
        (["fit", "run", "--out", "curves.txt"], "ending of out must be one of '.json'"),
        (["fit", "nowhere"], "nowhere must be a run's folder"),
        (["fit", "run", "--table", "--per-class"], "exclude each other, got both; leave out one"),
        (["confusion"], "at least one run must be given"),
        (["confusion", "run", "--visible", "1.5"], "visible must be a number in 0..1"),
        (["confusion", "run", "--smoothing", "-1"], "smoothing must be a number in 0..1"),
        (["confusion", "run", "--coarse"], "coarse takes no run"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        curves_command(arguments)
