"""A run of a few seconds that knows some digits, made once for all tests of curves."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "training"))


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def runs(tmp_path_factory, _one_thread):
    """`runs.held`: 200 images held out, knows some; `runs.test`: holds none out, untrained."""
    import tiny_runs

    root = tmp_path_factory.mktemp("runs")
    learns = {"name": "knows", "data_per_class": 60, "epochs": 6, "loss_soften": "none"}
    held = tiny_runs.tiny(data_validation=200, optim_lr=0.1, **learns)
    tiny_runs.run(held, root / "held", threads=1, device="cpu")
    tiny_runs.run(tiny_runs.tiny(data_validation=0), root / "test", threads=1, device="cpu")
    return SimpleNamespace(held=root / "held", test=root / "test")
