import io

import pytest
import torch
from matplotlib.figure import Figure
from rich.console import Console

from softaug.lab.curves.cli import draw_figures, draw_fit, fit_table, naive_retained
from softaug.lab.curves.fit import OperationFit
from softaug.transforms.curves import Curve, TableCurve

X = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
TABLE = TableCurve("strength", (0.0, 0.5, 1.0), (1.0, 0.75, 0.1))


def fit(of="strength", k=2.0):
    points = [0.5, 1.0], [0.6, 0.2], [0.01, 0.01], [0.75, 0.1], [0.02, 0.03]
    return OperationFit(Curve(of, 0.9, k), 0.9, 2.0, 0.01, 0.1, 0.02, *points)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("crop", [1, 0.75, 0]),
        ("color", [1, 0.75, 0]),
        ("translate-x", [1, 0.75, 0]),
        ("rotate", [1, None, None]),
    ],
)
def test_the_naive_rule_is_the_crop_rule(name, expected):
    found = naive_retained(name, X, edge=32)
    for value, number in zip(found.tolist(), expected, strict=True):
        assert number is None or value == pytest.approx(number, abs=1e-6)


def test_a_plot_shows_points_with_errors_the_curve_and_the_naive_one():
    axes = Figure().add_subplot()
    draw_fit(axes, "color", fit(k=(1.0, 3.0)), edge=32)
    naive, fitted = axes.get_lines()[:2]
    assert naive.get_linestyle() == "--"
    assert float(fitted.get_ydata()[-1]) == pytest.approx(0.1)  # the common k, loss 0.9
    (bars,) = axes.containers
    low, high = bars[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((0.75 - 0.04, 0.75 + 0.04))


def test_a_plot_of_a_table_shows_the_table():
    axes = Figure().add_subplot()
    draw_fit(axes, "color", fit()._replace(curve=TABLE), edge=32)
    drawn = axes.get_lines()[1].get_ydata()
    assert [float(drawn[i]) for i in (0, 50, 100)] == pytest.approx([1, 0.75, 0.1])
    assert axes.get_title(loc="left") == "color: table"


def test_figures_are_named_for_their_operations_and_the_same_each_time(tmp_path):
    fits = {"color": fit(), "crop": fit("visible")}
    once, again = (draw_figures(fits, 32, tmp_path / name / "plots") for name in "ab")
    assert [path.name for path in once] == ["color.svg", "crop.svg", "overview.png"]
    assert "retained" in once[0].read_text()
    assert once[0].read_bytes() == again[0].read_bytes()


def shown(curve, names=("translate-x",), **changes):
    """The printed table of one operation or several, 80 columns wide."""
    values = {"common_k": 12.0, "loss_error": 0.012, "k_error": 1.25, **changes}
    found = fit()._replace(curve=curve, **values)
    console = Console(file=io.StringIO(), width=80)
    console.print(fit_table(dict.fromkeys(names, found), 0.8))
    return console.file.getvalue()


@pytest.mark.parametrize("k", [12.0, (0.25, 15.98)], ids=["one", "classes"])
@pytest.mark.parametrize("error", [None, 2.24])
def test_no_name_is_cut_at_80_columns(k, error):
    text = shown(Curve("strength", 0.9, k), ("translate-x", "crop"), k_error=error)
    assert "translate-x" in text
    assert "…" not in text


def test_errors_are_shown_and_a_bound_is_told():
    text = shown(Curve("strength", 0.9, 12.0), k_error=None)
    assert "0.012" in text
    assert "bound" in text
    assert "None" not in text
    assert "0.00" not in text


def test_the_loss_of_a_crop_is_fixed():
    assert "fixed" in shown(Curve("visible", 1.0, 2.0), ("crop",), loss_error=None)


def test_a_table_shows_what_it_retains():
    row = next(line for line in shown(TABLE).splitlines() if "translate-x" in line)
    assert row.replace("│", " ").split() == ["translate-x", "0.750", "0.100", "0.020", "20.0"]
