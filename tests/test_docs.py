"""The Python code of README and guide runs; the docs' links lead somewhere."""

import re
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def python_blocks(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


def test_the_readme_loop_runs_and_trains():
    images = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8).float() / 255
    data = TensorDataset(images, torch.arange(64) % 10)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    before = model[1].weight.detach().clone()
    scope = {
        "loader": DataLoader(data, batch_size=16),
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
    }
    exec(python_blocks("README.md"), scope)
    assert scope["loss"].isfinite()
    assert not torch.equal(before, model[1].weight)


@pytest.mark.parametrize(
    "page", ["docs/guide.md", "docs/evaluation.md", "docs/methods.md", "docs/self-paced.md"]
)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what it writes goes there
    exec(python_blocks(page), {"__name__": "page"})


def test_the_training_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "training"}
    exec(python_blocks("docs/training.md"), scope)
    assert scope["wide"].augment.crop.sigma == 0.5
    assert 0 <= scope["result"]["error"] <= 1
    assert (tmp_path / "runs/mine/result.json").exists()


def test_the_page_on_curves_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "curves"}
    exec(python_blocks("docs/curves.md"), scope)
    assert scope["loss"].prior.shape == (3, 3)
    assert scope["label"].retained.shape == (8,)


def test_the_page_on_imagenet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (120, 90), "olive").save(name)
    scope = {"__name__": "imagenet"}
    exec(python_blocks("docs/imagenet.md"), scope)
    assert scope["batch"].images.shape == (2, 3, 64, 64)
    assert scope["label"].label.tolist() == [3, 1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text())
    missing = [n for n in links if "://" not in n and not (page.parent / n).exists()]
    assert missing == []


def test_the_readme_names_the_commands_that_the_makefile_has():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
