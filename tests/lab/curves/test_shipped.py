"""The curves that come with the package."""

import json
from importlib.resources import files

import pytest
import torch

from softaug.lab.curves.measure import MEASURABLE
from softaug.transforms.curves import SHIPPED, read_curves
from studies.curves.tables import PAGE, README, WITHOUT, make_table

FOLDER = files("softaug.transforms") / "curves_data"
FILE = FOLDER / "cifar100.json"
ABOUT = json.loads(FILE.read_text())["about"]


def test_the_file_has_all_that_can_be_measured_and_how_it_was_made_and_names_no_folder():
    assert "cifar100" in SHIPPED
    assert list(read_curves(FILE)) == list(MEASURABLE)
    assert ABOUT["command"].startswith("softaug curves fit runs/")
    assert len(ABOUT["environment"]["commit"]) == 40
    assert ABOUT["split"] == "held-out"
    assert '"/' not in FILE.read_text()


def test_curves_pass_by_their_measured_points():
    """Within the misfit that the file itself tells, on the mean square."""
    curves = read_curves(FILE)
    for operation, points in ABOUT["points"].items():
        x = torch.tensor(points["x"], dtype=torch.float64)
        missed = curves[operation](x) - torch.tensor(points["retained"], dtype=torch.float64)
        assert float((missed**2).mean().sqrt()) == pytest.approx(points["misfit"], abs=2e-3)


def test_the_page_shows_the_numbers_of_the_files():
    for path, page, marker in ((FILE, PAGE, "curves"), (WITHOUT, README, "curves-without")):
        table = make_table(json.loads(path.read_text()))
        shown = f"<!-- {marker} -->\n{table}\n<!-- /{marker} -->"
        assert shown in page.read_text(), "run python -m studies.curves.tables FILE"
