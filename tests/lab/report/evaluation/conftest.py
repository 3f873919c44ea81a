"""A small comparison with numbers that can be worked out by hand."""

import base64
import copy
import io
import json

import pytest
from PIL import Image

from softaug.lab.report.evaluation import write_evaluation_report

CLASSES = ["cat", "dog", "owl"]
ERRORS = {"hard": (0.10, 0.14), "soft": (0.06, 0.09)}  # lower by 0.04 and 0.05
MEASURES = [
    ("error", "Error, %", True, 2, False),
    ("nll", "NLL", False, 3, False),
    ("ece_15", "ECE (15 bins), %", True, 2, False),
    ("occlusion/0.4", "Accuracy, 40% hidden, %", True, 1, True),
]


FIGURES = ["nll", "brier", "ece_10", "ece_15", "ece_15_mass", "l2_15_mass_debiased"]
FIGURES += ["ece_15_classwise", "mce_15", "gap"]
NAMES = ("key", "label", "percent", "digits", "higher_is_better")


def make_png(level):
    packed = io.BytesIO()
    Image.new("RGB", (8, 8), (level, level, level)).save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()


def make_bins(accuracy):
    return {
        "edges": [0.0, 0.5, 0.75, 1.0],
        "count": [0, 20, 80],
        "confidence": [None, 0.625, 0.875],
        "accuracy": [None, 0.5, accuracy],
    }


def make_test_set(error):
    calibration = {"nll": 2 * error, "brier": error, "ece_10": 0.03, "ece_15": error / 2}
    calibration |= {"ece_15_mass": 0.025, "l2_15_mass_debiased": 0.02, "ece_15_classwise": 0.004}
    calibration |= {"mce_15": 0.2, "gap": 0.01}
    return {
        "n": 1000,
        "error": error,
        "top5_error": 0.0,
        "before": calibration,
        "after": {**calibration, "nll": 1.5 * error, "ece_15": error / 4, "gap": -0.02},
        "reliability": {"before": make_bins(0.9), "after": make_bins(0.95)},
        "histogram": {"right": [0, 10, 60, 800], "wrong": [5, 10, 15, 100]},
    }


def make_examples(seed):
    whole = [
        {
            "index": 7 + place,
            "label": place,
            "png": make_png(60 * place),
            "answers": [[place, 0.75 + 0.01 * seed], [(place + 1) % 3, 0.125]],
        }
        for place in range(3)
    ]
    hidden = [
        {"share": share, "images": [{"png": make_png(9), "answers": [[1, 0.5]]}]}
        for share in (0.0, 0.4)
    ]
    return {"whole": whole, "occluded": hidden}


def make_recipe(name, seed):
    loss = {"soften": "both" if name == "soft" else "none", "label_smoothing": 0.0}
    data = {"name": "pets", "validation": 0}
    return {"name": name, "model": "resnet8", "data": data, "loss": loss, "seed": seed}


def make_member(name, seed, error):
    rows = [{"step": 5 * e, "epoch": e, "lr": 0.1, "train_loss": 1 / e} for e in (1, 2, 3)]
    rows[-1]["test_error"] = error
    folder = f"/runs/{name}-seed{seed}"
    return {
        "folder": folder,
        "seed": seed,
        "step": 15,
        "num_steps": 15,
        "finished": True,
        "weights_sha256": "ab" * 32,
        "metrics": rows,
    }


def make_environment():
    versions = {"softaug": "0.1.0", "commit": None, "torch": "2.10.0", "cpu": "EPYC", "cores": 2}
    return {**versions, "date": "2026-11-16T04:38:10+00:00"}


def make_measured(test, occluded):
    error = test["error"]
    values = [error, test["before"]["nll"], test["before"]["ece_15"], occluded]
    rows = [dict(zip(NAMES, row, strict=True)) for row in MEASURES]
    intervals = [[error - 0.02, error + 0.02], None, None, None]
    parts = zip(rows, values, intervals, strict=True)
    return [{**row, "value": value, "interval": ends} for row, value, ends in parts]


def make_calibration():
    """All figures, in percent but NLL and Brier."""
    rows = [(key, key, key not in ("nll", "brier"), 2, False) for key in FIGURES]
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def make_evaluation(name, seed, error):
    ordeal = {"accuracy": [1 - error, 0.5 - error], "se": [0.01, 0.02], "draws": 2, "n": 1000}
    return {
        "schema": 2,
        "kind": "evaluation",
        "name": name,
        "recipe": make_recipe(name, seed),
        "members": [make_member(name, seed, error)],
        "class_names": CLASSES,
        "split": "test",
        "temperature": {"values": [1.25], "how": "fitted on 100 images that were held out"},
        "sets": {"test": make_test_set(error)},
        "measures": make_measured(make_test_set(error), 0.5 - error),
        "calibration": make_calibration(),
        "command": f"softaug evaluate /runs/{name}-seed{seed} --draws 2",
        "per_class": {
            "count": [10, 10, 0],
            "error": [error, 0.2, None],
            "nll": [2 * error, 0.5, None],
            "brier": [error, 0.25, None],
            "confusion": [[9, 1, 0], [0, 8, 2], [0, 0, 0]],
        },
        "robustness": {"occlusion": {"levels": [0.0, 0.4], **ordeal}},
        "examples": make_examples(seed),
        "environment": make_environment(),
        "predictions_sha256": "cd" * 32,
    }


def make_arm(name):
    evaluations = [make_evaluation(name, seed, error) for seed, error in enumerate(ERRORS[name])]
    tests = [evaluation["sets"]["test"] for evaluation in evaluations]
    values = {
        "error": [test["error"] for test in tests],
        "nll": [test["before"]["nll"] for test in tests],
        "ece_15": [test["before"]["ece_15"] for test in tests],
        "occlusion/0.4": [e["robustness"]["occlusion"]["accuracy"][1] for e in evaluations],
    }
    estimates = {
        key: {"mean": (a + b) / 2, "se": abs(a - b) / 2, "n": 2} for key, (a, b) in values.items()
    }
    return {
        "name": name,
        "seeds": [0, 1],
        "values": values,
        "estimates": estimates,
        "evaluations": evaluations,
    }


def make_pair():
    words = ["better", "no difference shown", "no difference shown", "worse"]
    means = [-0.045, -0.09, -0.0225, 0.045]
    keys = [measure[0] for measure in MEASURES]
    image = {"value": -0.04, "low": -0.0625, "high": -0.0175, "n": 1000, "level": 0.95}
    return {
        "arm": "soft",
        "against": "hard",
        "seeds": [0, 1],
        "by_seed": {
            key: {"mean": mean, "se": abs(mean) / 9, "n": 2}
            for key, mean in zip(keys, means, strict=True)
        },
        "by_image": {"error": image},
        "verdicts": {
            key: {"word": word, "n": 2, "over": "seeds", "text": f"{word} (n = 2 seeds)"}
            for key, word in zip(keys, words, strict=True)
        },
    }


def make_comparison():
    return {
        "schema": 2,
        "kind": "comparison",
        "measures": [dict(zip(NAMES, row, strict=True)) for row in MEASURES],
        "calibration": make_calibration(),
        "arms": [make_arm(name) for name in ERRORS],
        "pairs": [make_pair()],
        "command": "softaug compare /runs/hard-seed0 /runs/hard-seed1 --out both",
        "environment": make_environment(),
    }


@pytest.fixture
def comparison():
    return make_comparison()


@pytest.fixture
def evaluation():
    return make_evaluation("soft", 0, 0.06)


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The folder of a report."""
    folder = tmp_path_factory.mktemp("comparison")
    (folder / "comparison.json").write_text(json.dumps(make_comparison()))
    write_evaluation_report(folder)
    return folder


@pytest.fixture(scope="session")
def page_text(written):
    return (written / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def many_classes():
    """One evaluation of 100 classes."""
    found = copy.deepcopy(make_evaluation("soft", 0, 0.06))
    found["class_names"] = [f"class {place}" for place in range(100)]
    rows = [[90 if i == j else int(j == (i + 1) % 100) * i for j in range(100)] for i in range(100)]
    errors = [place / 200 for place in range(100)]
    found["per_class"] = {"count": [100] * 100, "error": errors, "confusion": rows}
    found["per_class"] |= {"nll": errors, "brier": errors}
    return found
