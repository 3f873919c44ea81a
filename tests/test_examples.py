"""Each example runs as a user would start it, and learns."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "examples"


class Example(NamedTuple):
    """How long an example runs here, the accuracy that it must beat, and what it imports."""

    epochs: int
    accuracy: float  # a chance guess has 0.1, of even and odd 0.5, of several labels 0.02
    needs: str = "sklearn"


EXAMPLES = {
    "plain_loop.py": Example(2, 0.7),
    "torchvision_compose.py": Example(2, 0.7),
    "timm_loop.py": Example(2, 0.7, "timm"),
    "lightning_module.py": Example(2, 0.7, "lightning"),
    "huggingface_trainer.py": Example(4, 0.8, "transformers"),
    "accelerate_loop.py": Example(3, 0.8, "accelerate"),
    "kornia_augmentations.py": Example(3, 0.8, "kornia"),
    "torchvision_references.py": Example(3, 0.8),
    "finetune_vit.py": Example(6, 0.87, "safetensors"),  # at most 0.83 without its file
    "multi_label.py": Example(5, 0.6),
    "export_onnx.py": Example(3, 0.8, "onnxscript"),
}
SHORT = set(EXAMPLES) - {"torchvision_compose.py", "timm_loop.py", "lightning_module.py"}


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


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_and_learns(name, run):
    pytest.importorskip("sklearn")
    example = EXAMPLES[name]
    pytest.importorskip(example.needs)
    output = run(name, example.epochs)
    reached = [float(share) for share in re.findall(r"accuracy (\d\.\d+)", output)]
    assert reached
    assert min(reached) > example.accuracy


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


def test_every_example_is_executed():
    assert {path.name for path in FOLDER.glob("*.py")} == {*EXAMPLES, "imagefolder.py"}


def test_examples_stay_short():
    assert all(len((FOLDER / name).read_text().splitlines()) < 60 for name in SHORT)
