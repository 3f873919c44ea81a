"""A network taken out of its run: loaded without its images, asked about files, exported."""

import csv
import io
import json
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from softaug.lab import load_run
from softaug.lab.cli import main
from softaug.lab.data.images import load
from softaug.lab.evaluation import export as exporting
from softaug.lab.evaluation.load_run import load_run as load_with_images
from softaug.lab.models import create
from softaug.metrics import apply_temperature


@pytest.fixture
def digit_files(tmp_path):
    """Three test digits as files, one of them in color and twice as large."""
    images = load("digits").test.images[:3]
    for number, image in enumerate(images):
        picture = Image.fromarray(image.permute(1, 2, 0).numpy())
        if number == 2:
            picture = picture.resize((32, 32))
        picture.save(tmp_path / f"{number}.png")
    return tmp_path


@pytest.fixture
def call(monkeypatch, capsys):
    def run_main(*arguments):
        monkeypatch.setattr(sys, "argv", ["softaug", *map(str, arguments)])
        capsys.readouterr()
        main()
        return capsys.readouterr().out

    return run_main


def test_the_network_gives_the_logits_of_the_run_and_knows_its_classes(runs):
    images = load("digits").test.images[:20]
    net, run = load_run(runs.test), load_with_images(runs.test, None, "cpu")
    assert (net.training, net.size, net.short_edge) == (False, 16, 16)
    assert net.class_names == tuple("0123456789")
    torch.testing.assert_close(net(images), run.predict(images))
    with pytest.raises(ValueError, match=r"must be uint8 \[B, 3, H, W\], got .*float32.* inside"):
        net(images.float())


def test_a_run_is_loaded_where_its_images_are_not(runs, monkeypatch, tmp_path):
    monkeypatch.setattr("softaug.lab.evaluation.network.load_data", None)
    assert len(load_run(str(runs.held)).class_names) == 10


def test_a_checkpoint_of_an_earlier_version_takes_names_and_size_from_the_data(runs, monkeypatch):
    from softaug.lab.evaluation import network

    def forget(folder, who):
        found = load_newest(folder, who)
        del found.state["images"]
        return found

    load_newest = network.load_newest
    monkeypatch.setattr(network, "load_newest", forget)
    net = load_run(runs.test)
    assert (len(net.class_names), net.size) == (10, 16)
    monkeypatch.setattr(network, "load_data", Mock(side_effect=ValueError("no digits")))
    with pytest.raises(ValueError, match=r"from before 0\.2 must be there: .*, got no digits"):
        load_run(runs.test)


def test_the_temperature_is_that_of_an_evaluation_of_these_weights(runs, measured, tmp_path):
    net = load_run(runs.test)
    assert net.temperature == measured.temperature.others
    images = load("digits").test.images[:5]
    expected = apply_temperature(net(images), net.temperature).softmax(1)
    torch.testing.assert_close(net.predict(images), expected)
    stale = json.loads((runs.test / "evaluation.json").read_text())
    stale["members"][0]["weights_sha256"] = "others"
    (tmp_path / "evaluation.json").write_text(json.dumps(stale))
    for name in ("recipe.json", "checkpoints"):
        (tmp_path / name).symlink_to(runs.test / name)
    assert load_run(tmp_path).temperature is None


def test_the_network_of_an_ensemble_and_one_without_a_probe_are_refused(tmp_path):
    import tiny_runs

    tiny_runs.run(tiny_runs.tiny_pairs(epochs=1), tmp_path / "pairs", device="cpu")
    with pytest.raises(ValueError, match=r"must have a linear probe, .*`softaug evaluate .*pairs`"):
        load_run(tmp_path / "pairs")
    with_images = load_with_images(tmp_path / "pairs", None, "cpu")  # trains the probe
    images = load("digits").test.images[:5]
    torch.testing.assert_close(load_run(tmp_path / "pairs")(images), with_images.predict(images))
    (tmp_path / "member-seed0").mkdir()
    with pytest.raises(ValueError, match=r"must be of one network, got 1 in .*; name .*member-s"):
        load_run(tmp_path)


def test_files_are_classified_as_the_same_pixels_in_memory_are(runs, digit_files, call):
    net = load_run(runs.test)
    best = net.predict(load("digits").test.images[:2]).max(1)
    shown = call("predict", runs.test, digit_files, "--format", "csv", "--device", "cpu")
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [Path(row["image"]).name for row in rows] == ["0.png", "1.png", "2.png"]
    for row, label, prob in zip(rows, best.indices.tolist(), best.values.tolist(), strict=False):
        assert row["class"] == str(label)
        assert float(row["confidence"]) == pytest.approx(prob, abs=1e-5)
    assert call("predict", runs.test, digit_files, "--device", "cpu") == shown  # not a terminal


def test_predictions_as_json_and_as_a_table_name_several_classes(runs, digit_files, call):
    options = (runs.test, digit_files / "0.png", "--top", "3", "--device", "cpu")
    found = json.loads(call("predict", *options, "--format", "json"))
    (one,) = found["predictions"]
    probs = [answer["confidence"] for answer in one["classes"]]
    assert len(probs) == 3
    assert probs == sorted(probs, reverse=True)
    table = call("predict", *options, "--format", "table")
    assert all(f"{prob:.1%}" in table for prob in probs)


def test_a_broken_file_is_named_after_the_answers_to_the_others(runs, digit_files, call, capsys):
    (digit_files / "1.png").write_bytes(b"no image")
    with pytest.raises(SystemExit):
        call("predict", runs.test, digit_files, "--device", "cpu")
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3
    assert "got 1 that cannot: " in shown.err
    for bad, rule in (("none", "must be files or folders"), (runs.held / "tensorboard", "images")):
        with pytest.raises(SystemExit):
            call("predict", runs.test, bad)
        assert rule in capsys.readouterr().err


@pytest.mark.parametrize("style", exporting.SUFFIXES)
def test_an_exported_network_gives_the_logits_of_the_run(runs, style, tmp_path):
    if style == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    net, path = load_run(runs.test), tmp_path / f"a{exporting.SUFFIXES[style]}"
    assert exporting.export_network(net, path, style) <= 1e-4
    about = json.loads((tmp_path / f"{path.name}.json").read_text())
    assert (about["class_names"], about["size"]) == (list("0123456789"), 16)
    images = load("digits").test.images[:7]
    if style == "onnx":
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        logits = torch.from_numpy(session.run(["logits"], {"images": images.numpy()})[0])
    elif style == "torch-export":
        logits = torch.export.load(path).module()(images)
    else:
        bare = create(about["model"], 10).eval()
        bare.load_state_dict(load_file(path))  # plain keys
        mean, std = (torch.tensor(about[key]).view(-1, 1, 1) for key in ("mean", "std"))
        logits = bare((images / 255 - mean) / std)
    torch.testing.assert_close(logits, net(images), atol=1e-4, rtol=1e-4)


def test_an_export_that_differs_is_refused_and_leaves_no_file(runs, tmp_path, monkeypatch):
    net = load_run(runs.test)
    wrong = {"state-dict": lambda net, path: lambda images: net(images) + 1e-3}
    monkeypatch.setattr(exporting, "_WRITERS", wrong)
    with pytest.raises(ValueError, match=r"must agree with the run's to .*, got 1\.0e-03"):
        exporting.export_network(net, tmp_path / "a.safetensors", "state-dict")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"format onnx must end in \.onnx, got a\.pt"):
        exporting.export_network(net, tmp_path / "a.pt", "onnx")


def test_without_onnxruntime_the_extra_is_named(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "find_spec", lambda name: None if "runtime" in name else name)
    with pytest.raises(ValueError, match=r"got no onnxruntime; pip install 'softaug\[export\]'"):
        exporting.export_network(load_run(runs.test), tmp_path / "a.onnx", "onnx")


def test_the_command_writes_beside_the_run(runs, call):
    shown = call("export", runs.test, "--format", "state-dict")
    assert "network.safetensors: logits differ by at most 0" in shown
    for name in ("network.safetensors", "network.safetensors.json"):
        (runs.test / name).unlink()
