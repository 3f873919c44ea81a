"""Two runs of about a second and what is measured of them, made once for all tests."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console

from softaug.lab.data.images import load
from softaug.lab.evaluation.evaluate import EvaluationOptions, evaluate_runs
from softaug.lab.evaluation.metrics import CORRUPTIONS

sys.path.insert(0, str(Path(__file__).parent.parent / "training"))


def evaluate_quietly(folders, out, **options):
    """Evaluate with one draw, and without corruptions unless some are named."""
    chosen = EvaluationOptions(**{"draws": 1, "device": "cpu", "corruptions": (), **options})
    return evaluate_runs(folders, out, chosen, Console(file=io.StringIO()))


def save_npz(path, num=60):
    """The first test digits as a second test set."""
    test = load("digits").test
    images = test.images[:num].permute(0, 2, 3, 1).numpy()
    np.savez(path, images=images, labels=test.labels[:num].numpy())
    return path


@pytest.fixture(scope="session")
def evaluated():
    """The function that evaluates: `evaluated(folders, out, **options)`."""
    return evaluate_quietly


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def runs(tmp_path_factory, _one_thread):
    """`runs.test`: measured on the test set, with averaged weights, two checkpoints.
    `runs.held`: 30 training images held out.
    """
    import tiny_runs

    root = tmp_path_factory.mktemp("runs")
    whole = tiny_runs.tiny(name="on-test", data_validation=0, optim_ema=0.5)
    held = tiny_runs.tiny(name="on-held", epochs=1)
    result, _ = tiny_runs.run(whole, root / "test", threads=1, device="cpu")
    tiny_runs.run(held, root / "held", threads=1, device="cpu")
    return SimpleNamespace(test=root / "test", held=root / "held", result=result)


@pytest.fixture(scope="session")
def measured(runs):
    """The evaluation of `runs.test`, with 60 digits as a second test set."""
    also = f"again={save_npz(runs.test / 'again.npz')}"
    options = {"extra_test_sets": (also,), "corruptions": CORRUPTIONS}
    return evaluate_quietly([runs.test], runs.test, **options)


@pytest.fixture(scope="session")
def held_measured(runs):
    """The evaluation of `runs.held`."""
    return evaluate_quietly([runs.held], runs.held)
