"""The curves that come with the package."""

import json
from importlib.resources import files

import pytest
import torch

from softaug import DrawKey, SoftPolicy
from softaug.lab.curves.measure import MEASURABLE
from softaug.transforms.curves import SHIPPED, read_curves
from studies.curves.tables import PAGE, WITHOUT, make_table

FOLDER = files("softaug.transforms") / "curves_data"
each_file = pytest.mark.parametrize("name", ["cifar100"])


def about(name):
    return json.loads((FOLDER / f"{name}.json").read_text())["about"]


@each_file
def test_curves_are_there_for_everything_that_can_be_measured(name):
    assert name in SHIPPED
    assert list(read_curves(FOLDER / f"{name}.json")) == list(MEASURABLE)


@each_file
def test_the_file_says_how_it_was_made_and_names_no_machine_s_folder(name):
    made = about(name)
    assert made["command"].startswith("softaug curves fit runs/")
    assert len(made["environment"]["commit"]) == 40
    assert made["split"] == "held-out"
    assert '"/' not in (FOLDER / f"{name}.json").read_text()


@each_file
def test_curves_pass_by_their_measured_points(name):
    """Within the misfit that the file itself tells, on the mean square."""
    curves = read_curves(FOLDER / f"{name}.json")
    for operation, points in about(name)["points"].items():
        x = torch.tensor(points["x"], dtype=torch.float64)
        missed = curves[operation](x) - torch.tensor(points["retained"], dtype=torch.float64)
        assert float((missed**2).mean().sqrt()) == pytest.approx(points["misfit"], abs=2e-3)


@each_file
def test_a_policy_softens_by_them(name):
    images, labels = (
        torch.randint(0, 256, (64, 3, 32, 32), dtype=torch.uint8),
        torch.zeros(64).long(),
    )
    key = DrawKey(0, 0, torch.arange(64))
    _, fitted = SoftPolicy("trivial", curves=name)(images, labels, key=key)
    _, naive = SoftPolicy("trivial")(images, labels, key=key)
    assert bool(((fitted.retained >= 0) & (fitted.retained <= 1)).all())
    assert not torch.equal(fitted.retained, naive.retained)


def test_the_page_shows_the_numbers_of_the_files():
    page = PAGE.read_text()
    for path, marker in ((FOLDER / "cifar100.json", "curves"), (WITHOUT, "curves-without")):
        table = make_table(json.loads(path.read_text()))
        shown = f"<!-- {marker} -->\n{table}\n<!-- /{marker} -->"
        assert shown in page, "run python -m studies.curves.tables FILE"
