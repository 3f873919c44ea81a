"""`softaug evaluate` and `compare` of runs that learned without labels."""

import shutil
from types import SimpleNamespace

import pytest
import safetensors.torch
import tiny_runs
import torch

from softaug.lab.evaluation import features
from softaug.lab.evaluation.compare import compare_runs, read_predictions
from softaug.lab.evaluation.features import measure_neighbors
from softaug.lab.evaluation.load_run import load_run
from softaug.lab.training.ssl import build_pair_net
from softaug.metrics import knn_accuracy


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, evaluated):
    """Two arms of one seed, measured on 30 held-out digits' worth of the test set."""
    root = tmp_path_factory.mktemp("pretrained")
    found = {}
    for mode in ("none", "SA1"):
        recipe = tiny_runs.tiny_pairs(name=mode, weight_mode=mode, data_validation=0, epochs=1)
        result, _ = tiny_runs.run(recipe, root / mode, threads=1, device="cpu")
        export = {"export": root / "features.safetensors"} if mode == "SA1" else {}
        found[mode] = result, evaluated([root / mode], root / mode, **export)
    return SimpleNamespace(root=root, **found)


def test_the_error_of_neighbors_is_that_which_training_found(pairs):
    result, evaluation = pairs.SA1
    assert evaluation.features.neighbors == 50  # all there are
    assert evaluation.features.knn_error == pytest.approx(result["knn_error"])
    by_key = {metric.key: metric for metric in evaluation.metrics}
    for key in ("knn_error", "knn_untrained_error", "knn_pixels_error"):
        (low, high), value = by_key[key].interval, by_key[key].value
        assert low <= value == getattr(evaluation.features, key) <= high


def test_floors_are_an_untrained_network_and_pixels(pairs):
    run = load_run(pairs.root / "SA1", None, "cpu")
    data, (_, evaluation) = run.data, pairs.SA1
    fresh = build_pair_net(run.recipe, data).backbone.eval()
    mean, sd = (torch.tensor(x).view(-1, 1, 1) for x in (data.mean, data.sd))
    for key, look in {
        "knn_untrained_error": fresh,
        "knn_pixels_error": lambda images: ((images - mean) / sd).flatten(1),
    }.items():
        with torch.no_grad():
            known, asked = (look(part.images) for part in (data.train, data.measured))
        right = knn_accuracy(known, data.train.labels, asked, data.measured.labels, k=50)
        assert getattr(evaluation.features, key) == pytest.approx(1 - float(right), abs=0.003)


def test_the_probe_is_a_classifier_whose_predictions_are_kept(pairs):
    run, (_, evaluation) = load_run(pairs.root / "SA1", None, "cpu"), pairs.SA1
    kept = read_predictions(pairs.root / "SA1", evaluation)
    logits = run.predict(run.data.measured.images)
    torch.testing.assert_close(kept["test_logits"], logits, rtol=1e-4, atol=1e-4)
    wrong = (logits.argmax(1) != run.data.measured.labels).double().mean()
    assert evaluation.values["error"] == pytest.approx(float(wrong), abs=0.003)
    assert kept["knn_wrong"].double().mean() == pytest.approx(evaluation.values["knn_error"])


@pytest.mark.parametrize("harm", ["other", "cut"])
def test_a_probe_is_trained_once_and_of_other_settings_or_broken_anew(
    pairs, tmp_path, harm, monkeypatch
):
    folder = shutil.copytree(pairs.root / "SA1", tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(features, "fit_probe", None)
        wanted = load_run(folder, None, "cpu").net.probe.weight
    file = folder / features.PROBE
    if harm == "other":
        tensors = {"weight": torch.zeros(10, 64), "bias": torch.zeros(10)}
        safetensors.torch.save_file(tensors, file, metadata={"weights_sha256": "another"})
    else:
        file.write_bytes(file.read_bytes()[:-10])
    torch.testing.assert_close(load_run(folder, None, "cpu").net.probe.weight, wanted)


def test_features_and_labels_of_both_parts_are_exported(pairs, evaluated):
    run = load_run(pairs.root / "SA1", None, "cpu")
    found = safetensors.torch.load_file(pairs.root / "features.safetensors")
    assert sorted(found) == ["test_features", "test_labels", "train_features", "train_labels"]
    assert torch.equal(found["train_labels"], run.data.train.labels)
    with torch.no_grad():
        expected = run.net.features(run.data.train.images)
    torch.testing.assert_close(found["train_features"], expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"export must be a \.safetensors file"):
        evaluated([pairs.root / "none"], pairs.root / "none", export=pairs.root / "a.npz")


def test_arms_are_compared_by_probe_and_neighbors(pairs, tmp_path):
    (pair,) = compare_runs([pairs.root / "none", pairs.root / "SA1"], tmp_path).pairs
    for key in ("error", "knn_error"):
        ours, theirs = pairs.SA1[1].values[key], pairs.none[1].values[key]
        assert pair.by_image[key].value == pytest.approx(ours - theirs)


def test_every_image_that_is_looked_at_is_counted(pairs):
    run, ticks = load_run(pairs.root / "SA1", None, "cpu"), []
    measure_neighbors(run, run.data.measured, lambda n, note: ticks.append(n))
    assert sum(ticks) == 3 * (50 + 697)
