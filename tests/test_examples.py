"""Each example runs as a user would start it, and learns."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EPOCHS = {
    "plain_loop.py": 2,
    "torchvision_compose.py": 3,
    "timm_loop.py": 3,
    "lightning_module.py": 3,
}
NEEDS = {"timm_loop.py": "timm", "lightning_module.py": "lightning"}


def run(name, *arguments):
    """What the example prints; one thread, since tests run side by side."""
    return subprocess.run(
        [sys.executable, str(FOLDER / name), *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("name", EPOCHS)
def test_example_runs_and_learns(name, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    done = run(name, EPOCHS[name])
    assert done.returncode == 0, done.stderr
    reached = [float(number) for number in re.findall(r"accuracy (\d\.\d+)", done.stdout)]
    assert reached
    assert min(reached) > 0.7  # chance is 0.1
    assert list(tmp_path.iterdir()) == []  # leaves no files behind


def test_photographs_of_any_size_go_through_the_workers_into_the_loss(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("imagefolder.py", 1)
    assert done.returncode == 0, done.stderr
    steps = re.findall(r"loss (\d\.\d+), retained (\d\.\d+)", done.stdout)
    assert len(steps) == 2
    assert all(0 < float(loss) < 2 and 0.4 < float(kept) < 1 for loss, kept in steps)
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_executed():
    assert {path.name for path in FOLDER.glob("*.py")} == {*EPOCHS, "imagefolder.py"}


def test_the_plain_loop_stays_short():
    assert len((FOLDER / "plain_loop.py").read_text().splitlines()) < 60
