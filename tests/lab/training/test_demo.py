import io
import json
import math
from typing import Any

import pytest
from rich.console import Console

from softaug.lab.training.demo import DemoSettings, arms, run_demo, softening_curves

TINY = DemoSettings(seeds=(3, 4), epochs=1, num_train=20, occlusion_draws=1, processes=2)


def run(settings: DemoSettings, folder: Any) -> dict[str, Any]:
    path = run_demo(settings, folder, Console(file=io.StringIO()))
    assert [file.name for file in folder.iterdir()] == ["results.json"]
    return json.loads(path.read_text())


def numbers(results: dict[str, Any]) -> list[dict[str, Any]]:
    runs = [run for arm in results["arms"] for run in arm["runs"]]
    return [{name: v for name, v in run.items() if name != "seconds"} for run in runs]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Any]:
    return run(TINY, tmp_path_factory.mktemp("demo"))


def test_one_process_gives_the_same_bits_as_two(results, tmp_path) -> None:
    alone = DemoSettings(**{**vars(TINY), "processes": 1})
    assert numbers(run(alone, tmp_path)) == numbers(results)


def test_results_say_what_is_needed_to_repeat_them(results) -> None:
    assert set(results) == {"schema", "settings", "environment", "arms", "curves", "samples"}
    assert results["schema"] == 1
    settings = results["settings"]
    assert settings["command"].startswith("softaug demo --seeds 3 4 --epochs 1")
    assert (settings["num_train"], settings["num_validation"]) == (20, 500)
    assert (settings["num_test"], settings["image_size"]) == (697, 16)
    assert settings["num_parameters"] == 19810
    expected = {"softaug", "commit", "python", "torch", "torchvision", "scikit-learn"}
    expected |= {"platform", "cpu", "cores", "date", "seconds"}
    assert set(results["environment"]) == expected


def test_every_arm_has_its_runs_with_every_measure(results) -> None:
    names = [arm["name"] for arm in results["arms"]]
    assert names == ["hard mild crop", "hard aggressive crop", "soft crop"]
    for arm in results["arms"]:
        assert [run["seed"] for run in arm["runs"]] == [3, 4]
        for run_ in arm["runs"]:
            assert set(run_["occlusion"]) == {"0", "20", "40", "60", "80"}
            assert run_["occlusion"]["0"] == pytest.approx(1 - run_["error"])
            assert 0 <= run_["ece"] <= 1
            assert sum(run_["reliability"]["count"]) == 697
            assert len(run_["reliability"]["edges"]) == 11
            assert math.isfinite(run_["nll"])


def test_the_soft_arm_sees_the_draws_of_the_aggressive_one(results) -> None:
    mild, aggressive, soft = results["arms"]
    assert soft["offsets"] == aggressive["offsets"] != mild["offsets"]
    assert soft["transform"] == aggressive["transform"]
    assert len(mild["offsets"]) == 400
    assert {abs(shift) for offset in mild["offsets"] for shift in offset} == {0, 1}


def test_arms_differ_only_in_the_crop_or_the_loss() -> None:
    mild, aggressive, soft = arms(TINY)
    assert repr(mild.loss) == repr(aggressive.loss)
    assert aggressive.transform is soft.transform
    assert (aggressive.loss.soften, soft.loss.soften) == ("none", TINY.soften)


def test_samples_span_whole_to_nearly_gone(results) -> None:
    samples = results["samples"]
    assert [sample["label"] for sample in samples] == list(range(10))
    visible = [sample["visible"] for sample in samples]
    assert visible == sorted(visible, reverse=True)
    assert visible[0] == 1
    assert visible[-1] < 0.2
    for sample in samples:
        left = (16 - abs(sample["dx"])) * (16 - abs(sample["dy"])) / 256
        assert sample["visible"] == pytest.approx(left)
        assert sample["retained"] == pytest.approx(1 - (1 - left) ** 2)
        assert sample["confidence"] == pytest.approx(0.1 + 0.9 * sample["retained"])
        assert sample["target"][sample["label"]] == pytest.approx(sample["confidence"])
        assert sum(sample["target"]) == pytest.approx(1)


def test_samples_are_the_originals_shifted(results) -> None:
    for sample in results["samples"]:
        for y, row in enumerate(sample["image"]):
            for x, value in enumerate(row):
                down, right = y + sample["dy"], x + sample["dx"]
                inside = 0 <= down < 16 and 0 <= right < 16
                assert value == (sample["original"][down][right] if inside else 0)


def test_curves_rise_from_chance_to_certainty() -> None:
    curves = softening_curves()
    assert len(curves["visible"]) == 101
    for k, curve in curves["confidence"].items():
        assert curve[0] == pytest.approx(0.1)
        assert curve[-1] == 1
        assert curve[50] == pytest.approx(1 - 0.9 * 0.5 ** int(k))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "demo: epochs must be a whole number >= 1"),
        ({"processes": 1.5}, "demo: processes must be a whole number"),
        ({"sigma": -0.1}, "demo: sigma must be > 0"),
        ({"soften": "targets"}, "demo: soften must be one of .*did you mean 'target'"),
        ({"weight_decay": -1.0}, "demo: weight_decay must be >= 0"),
        ({"seeds": ()}, "demo: seeds must be at least one"),
        ({"seeds": (1, 1)}, "all different"),
    ],
)
def test_bad_settings_are_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        DemoSettings(**change)
