import io

import pytest
from rich.console import Console

from softaug.lab.curves.command import fit_table
from softaug.lab.curves.fit import OperationFit
from softaug.transforms.curves import Curve, TableCurve

TABLE = TableCurve("strength", (0.0, 0.5, 1.0), (1.0, 0.75, 0.1))


def shown(curve, names=("translate-x",), **changes):
    """The printed table of one operation or several, 80 columns wide."""
    points = [0.5, 1.0], [0.6, 0.2], [0.01, 0.01], [0.75, 0.1], [0.02, 0.03]
    fit = OperationFit(curve, 0.9, 12.0, 0.012, 1.25, 0.02, *points)._replace(**changes)
    console = Console(file=io.StringIO(), width=80)
    console.print(fit_table(dict.fromkeys(names, fit), 0.8))
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
