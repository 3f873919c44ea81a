import pytest
import torch
from matplotlib.figure import Figure

from softaug.lab.curves.command import draw_figures, draw_fit, naive_retained
from softaug.lab.curves.fit import OperationFit
from softaug.transforms.curves import Curve, TableCurve

X = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)


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
    table = TableCurve("strength", (0.0, 0.5, 1.0), (1.0, 0.75, 0.1))
    draw_fit(axes, "color", fit()._replace(curve=table), edge=32)
    drawn = axes.get_lines()[1].get_ydata()
    assert [float(drawn[i]) for i in (0, 50, 100)] == pytest.approx([1, 0.75, 0.1])
    assert axes.get_title(loc="left") == "color: table"


def test_figures_are_named_for_their_operations(tmp_path):
    made = draw_figures({"color": fit(), "crop": fit("visible")}, 32, tmp_path / "new" / "plots")
    assert [path.name for path in made] == ["color.svg", "crop.svg", "overview.png"]
    assert "retained" in made[0].read_text()


def test_the_same_fit_gives_the_same_plot(tmp_path):
    once, again = (draw_figures({"color": fit()}, 32, tmp_path / name)[0] for name in "ab")
    assert once.read_bytes() == again.read_bytes()
