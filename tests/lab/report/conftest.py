"""A small result file with numbers that can be worked out by hand."""

import json
import re
import shutil
import subprocess

import pytest

from softaug.lab.report.page import render

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--enable-logging=stderr",
]

ERRORS = {
    "hard mild crop": (0.04, 0.05, 0.06),
    "hard aggressive crop": (0.05, 0.05, 0.05),
    "soft crop": (0.019, 0.03, 0.041),  # 0.02 lower, give or take 0.001
}


def make_run(seed, error):
    return {
        "seed": seed,
        "error": error,
        "nll": 2 * error + 0.01 * seed,
        "ece": error / 2,
        "occlusion": {"0": 1 - error, "20": 0.8, "40": 0.5 - error, "60": 0.3, "80": 0.1},
        "reliability": {
            "edges": [0.0, 0.5, 0.75, 1.0],
            "count": [0, 10, 90],
            "confidence": [0.0, 0.6, 0.9],
            "accuracy": [0.0, 0.5, 0.95],
        },
        "seconds": 1.5,
    }


def make_arm(name, errors):
    return {
        "name": name,
        "transform": "SoftCrop(sigma=0.3)",
        "loss": "SoftLoss(soften='both')",
        "offsets": [[0, 0], [-3, 2], [5, 5]],
        "runs": [make_run(seed, error) for seed, error in enumerate(errors)],
    }


def make_sample():
    image = [[16 * x for x in range(16)] for _ in range(16)]
    target = [0.025] * 10
    target[3] = 0.775
    size = {"dx": 8, "dy": 0, "visible": 0.5, "retained": 0.75, "confidence": 0.775}
    return {"label": 3, "original": image, "image": image, "target": target, **size}


def make_settings():
    numbers = {"epochs": 2, "batch": 50, "lr": 0.1, "sigma": 0.3, "k": 2.0, "image_size": 16}
    counts = {"num_train": 600, "num_test": 100, "num_classes": 10, "num_parameters": 19810}
    words = {"command": "softaug demo --epochs 2", "model": "resnet8", "seeds": [0, 1, 2]}
    return {**words, **numbers, **counts}


def make_results():
    visible = [step / 10 for step in range(11)]
    curves = {str(k): [1 - 0.9 * (1 - v) ** k for v in visible] for k in (1, 2, 3, 4)}
    return {
        "schema": 1,
        "settings": make_settings(),
        "environment": {"softaug": "0.1.0", "commit": None, "cores": 2, "seconds": 12.5},
        "arms": [make_arm(name, errors) for name, errors in ERRORS.items()],
        "curves": {"visible": visible, "confidence": curves},
        "samples": [make_sample()],
    }


@pytest.fixture
def results():
    return make_results()


@pytest.fixture(scope="session")
def page_text():
    return render(make_results())


@pytest.fixture(scope="session")
def browse():
    """Open `page` in a `frame` that writes what it measures; (what it wrote, stderr)."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")

    def opened(frame, page, width, folder):
        text = json.dumps(page).replace("</", "<\\/")
        (folder / "frame.html").write_text(frame.format(width=width, page=text))
        place = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width + 50},900"]
        command = [CHROMIUM, *QUIET, *place, "--dump-dom", (folder / "frame.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return re.search(r'<pre id="measured">(.*?)</pre>', done.stdout)[1], done.stderr

    return opened
