"""Each example runs as a user would start it, and learns."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "examples"
EPOCHS = {
    "plain_loop.py": 2,
    "torchvision_compose.py": 2,
    "timm_loop.py": 2,
    "lightning_module.py": 2,
}
NEEDS = {"timm_loop.py": "timm", "lightning_module.py": "lightning"}


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run an example in an empty folder: what it prints. It leaves no files behind."""

    def run_example(name, epochs):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, str(epochs)])
        runpy.run_path(str(FOLDER / name), run_name="__main__")
        assert list(tmp_path.iterdir()) == []
        return capfd.readouterr().out

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tests run side by side
    yield run_example
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", EPOCHS)
def test_example_runs_and_learns(name, run):
    pytest.importorskip("sklearn")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    reached = [float(share) for share in re.findall(r"accuracy (\d\.\d+)", run(name, EPOCHS[name]))]
    assert reached
    assert min(reached) > 0.7  # chance is 0.1


def test_photographs_of_any_size_go_through_the_workers_into_the_loss(run):
    steps = re.findall(r"loss (\d\.\d+), retained (\d\.\d+)", run("imagefolder.py", 1))
    assert len(steps) == 2
    assert all(0 < float(loss) < 2 and 0.4 < float(kept) < 1 for loss, kept in steps)


def test_the_notebook_runs_and_both_networks_learn(capfd):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    cells = json.loads((FOLDER / "ten_minutes.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    short = code.replace("EPOCHS, BATCH = 20, 32", "EPOCHS, BATCH = 2, 64")
    assert short != code
    exec(compile(short, "ten_minutes.ipynb", "exec"), {})
    errors = re.findall(r"^(?:hard|soft) +(\d+\.\d)%", capfd.readouterr().out, re.MULTILINE)
    assert len(errors) == 2
    assert max(map(float, errors)) < 60  # chance is 90
    pyplot.close("all")


def test_every_example_is_executed_and_the_plain_loop_stays_short():
    assert {path.name for path in FOLDER.glob("*.py")} == {*EPOCHS, "imagefolder.py"}
    assert len((FOLDER / "plain_loop.py").read_text().splitlines()) < 60
