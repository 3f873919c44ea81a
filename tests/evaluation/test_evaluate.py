import hashlib
import io
import json
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch
from PIL import Image
from rich.console import Console

from softaug.data.load import load
from softaug.evaluation.command import evaluate_each
from softaug.evaluation.evaluate import Evaluation, EvaluationOptions, read_evaluation
from softaug.evaluation.measures import measures
from softaug.evaluation.robustness import harmed, ordeals
from softaug.evaluation.run import chunks, open_run, predict
from softaug.metrics import apply_temperature, ensemble_logits, error, fit_temperature

KEYS = {
    *("schema", "kind", "name", "recipe", "members", "class_names", "temperature", "sets"),
    *("per_class", "robustness", "fill", "examples", "environment", "predictions_sha256"),
}


def predictions(folder):
    return safetensors.torch.load_file(folder / "predictions.safetensors")


def without_date(found):
    return {name: value for name, value in found.items() if name != "environment"}


@pytest.fixture
def unmeasured(monkeypatch):
    """Checks are made, but nothing is measured after them."""
    monkeypatch.setattr(Evaluation, "measure", lambda self: {})


def copy_run(run, folder, **data):
    """A copy of a run whose recipe says something else of its data."""
    shutil.copytree(run, folder)
    recipe = json.loads((folder / "recipe.json").read_text())
    recipe["data"] |= data
    (folder / "recipe.json").write_text(json.dumps(recipe))
    for checkpoint in (folder / "checkpoints").iterdir():
        forget_images(checkpoint)
    return folder


def forget_images(checkpoint):
    """Take out of a checkpoint which images it was trained on, and seal it again."""
    state = json.loads((checkpoint / "state.json").read_text())
    del state["data"]
    (checkpoint / "state.json").write_text(json.dumps(state))
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    content = (checkpoint / "state.json").read_bytes()
    manifest["state.json"] = hashlib.sha256(content).hexdigest()
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))


def digit_folder(root, *parts):
    """A test digit of each class as a file, in each of the parts."""
    test = load("digits").test
    for part in parts:
        for label in range(10):
            image = test.images[int((test.labels == label).nonzero()[0])]
            path = root / part / str(label) / "one.png"
            path.parent.mkdir(parents=True)
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
    return root


def test_the_error_is_the_very_error_of_the_run(measured, runs):
    assert runs.result["split"] == "test"
    assert measured["sets"]["test"]["n"] == runs.result["num_measured"] == 697
    assert measured["sets"]["test"]["error"] == runs.result["error"]
    assert measured["sets"]["test"]["before"]["nll"] == pytest.approx(runs.result["nll"], abs=1e-6)
    assert measured["sets"]["test"]["before"]["ece_10"] == pytest.approx(
        runs.result["ece"], abs=1e-3
    )


def test_the_nll_is_the_very_nll_of_the_run(measured, runs):
    assert measured["sets"]["test"]["before"]["nll"] == runs.result["nll"]


def test_an_evaluation_says_what_was_measured_of_what(measured, runs):
    assert measured.keys() == KEYS
    assert (measured["schema"], measured["kind"]) == (1, "evaluation")
    assert (measured["name"], measured["class_names"]) == ("on-test", list("0123456789"))
    assert measured["recipe"] == json.loads((runs.test / "recipe.json").read_text())
    (member,) = measured["members"]
    assert (member["seed"], member["step"], len(member["metrics"])) == (0, 6, 2)
    assert measured["fill"] == [round(mean) for mean in open_run(runs.test, None, "cpu").data.mean]


def test_the_file_holds_what_is_returned(measured, runs):
    assert read_evaluation(runs.test) == measured


def test_the_first_level_of_each_harm_is_the_accuracy(measured):
    assert list(measured["robustness"]) == ["occlusion", "shift", "noise"]
    for result in measured["robustness"].values():
        assert result["accuracy"][0] == pytest.approx(1 - measured["sets"]["test"]["error"])
        assert (len(result["accuracy"]), len(result["se"]), result["n"]) == (5, 5, 697)


@pytest.mark.parametrize("place", [1, 4])
def test_accuracy_under_harm_is_that_of_the_harmed_images(measured, runs, place):
    run = open_run(runs.test, None, "cpu")
    shift = ordeals(measured["fill"])[1]
    right, labels = [], list(run.data.measured.labels.split(500))
    for chunk, images in enumerate(chunks(run.data.measured, 0)):
        answers = predict(run, harmed(shift, place, 0, chunk, images)).argmax(1)
        right.append(answers == labels[chunk])
    accuracy = float(torch.cat(right).double().mean())
    assert measured["robustness"]["shift"]["accuracy"][place] == pytest.approx(accuracy)


def test_the_classes_add_up(measured):
    found, wrong = measured["per_class"], measured["sets"]["test"]["error"]
    assert sum(found["count"]) == sum(map(sum, found["confusion"])) == 697
    shares = zip(found["count"], found["error"], strict=True)
    assert sum(n * share for n, share in shares) / 697 == pytest.approx(wrong, abs=1e-5)


def test_predictions_are_kept_with_their_labels(measured, runs):
    kept = predictions(runs.test)
    names = {"test_logits", "test_labels", "again_logits", "again_labels"}
    assert kept.keys() == names
    assert kept["test_logits"].shape == (697, 10)
    assert kept["test_labels"].equal(load("digits").test.labels)
    wrong = float(error(kept["test_logits"], kept["test_labels"]))
    assert wrong == measured["sets"]["test"]["error"]
    content = (runs.test / "predictions.safetensors").read_bytes()
    assert measured["predictions_sha256"] == hashlib.sha256(content).hexdigest()


def test_no_unfinished_file_is_left(measured, runs):
    assert [path.name for path in runs.test.glob(".*")] in ([".lock"], [])


def test_a_second_test_set_is_measured_by_itself(measured, runs):
    kept = predictions(runs.test)
    logits, labels = kept["again_logits"], kept["again_labels"]
    assert torch.allclose(logits, kept["test_logits"][:60], atol=1e-4)
    assert labels.equal(kept["test_labels"][:60])
    temperature = fit_temperature(kept["test_logits"], kept["test_labels"])
    scaled = apply_temperature(logits, temperature)
    assert measured["sets"]["again"] == measures(logits, labels, scaled)


def test_other_images_than_the_trained_ones_are_refused(runs, evaluated, tmp_path):
    """Else held-out images could be training images, and a temperature fitted on them."""
    folder = shutil.copytree(runs.test, tmp_path / "run")
    recipe = json.loads((folder / "recipe.json").read_text())
    recipe["data"]["validation"] = 30
    (folder / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(ValueError, match=r"images must be those that .* was trained on"):
        evaluated([folder], folder)


def test_the_command_gives_the_same_numbers_again(measured, runs, tmp_path):
    again = Path(shutil.copytree(runs.test, tmp_path / "run"))
    (again / "evaluation.json").unlink()
    also = f"again={runs.test / 'again.npz'}"
    options = EvaluationOptions(device="cpu", draws=1, also=(also,))
    console = Console(file=io.StringIO(), width=100)
    assert list(evaluate_each([again], options, False, None, console)) == [again]
    found = read_evaluation(again)
    found["members"][0]["folder"] = measured["members"][0]["folder"]
    assert without_date(found) == without_date(measured)
    shown = console.file.getvalue()
    assert f"{100 * measured['sets']['test']['error']:.2f}" in shown
    assert "accuracy, occlusion 0.2, %" in shown


def test_the_other_half_sets_the_temperature_without_held_out_images(measured, runs):
    kept = predictions(runs.test)
    halves = [
        fit_temperature(kept["test_logits"][half::2], kept["test_labels"][half::2])
        for half in (1, 0)
    ]
    assert measured["temperature"]["values"] == halves
    assert "half" in measured["temperature"]["how"]


def test_held_out_images_set_the_temperature_where_there_are_some(held_measured, runs):
    assert held_measured["sets"]["test"]["n"] == 697, "measured on the test set all the same"
    run = open_run(runs.held, None, "cpu")
    held = run.data.measured
    with torch.no_grad():
        expected = fit_temperature(run.net(held.images), held.labels)
    (temperature,) = held_measured["temperature"]["values"]
    assert temperature == pytest.approx(expected, rel=1e-3)
    assert held_measured["temperature"]["how"].startswith("fitted on 30 training images")
    after = measures_after(predictions(runs.held), temperature)
    assert held_measured["sets"]["test"]["after"]["nll"] == pytest.approx(after)


def measures_after(kept, temperature):
    logits, labels = kept["test_logits"] / temperature, kept["test_labels"]
    return float(torch.nn.functional.cross_entropy(logits.double(), labels))


@pytest.fixture(scope="module")
def ensemble(runs, measured, held_measured, evaluated, tmp_path_factory):
    """Both runs as one, and the folder of its evaluation."""
    out = tmp_path_factory.mktemp("ensemble")
    shutil.rmtree(out)  # it is made
    members = [copy_run(runs.held, out.with_name("member"), validation=0), runs.test]
    return evaluated(members, out), out


def test_an_ensemble_is_the_mean_of_the_probabilities(ensemble, runs):
    found, out = ensemble
    each = [predictions(folder)["test_logits"] for folder in (runs.held, runs.test)]
    logits = predictions(out)["test_logits"]
    assert torch.allclose(logits, ensemble_logits(each), atol=1e-5)
    assert found["sets"]["test"]["error"] == float(error(logits, load("digits").test.labels))
    assert found["name"] == "on-held-ensemble"
    assert [member["step"] for member in found["members"]] == [3, 6]


def test_an_ensemble_of_a_run_with_itself_is_the_run(measured, runs, evaluated, tmp_path):
    found = evaluated([runs.test, runs.test], tmp_path)
    ours, theirs = found["sets"]["test"], measured["sets"]["test"]
    assert ours["error"] == theirs["error"]
    for name in ("nll", "brier", "gap"):
        assert ours["before"][name] == pytest.approx(theirs["before"][name], abs=1e-6)
    for name, result in found["robustness"].items():
        assert result["accuracy"] == measured["robustness"][name]["accuracy"]


def test_an_ensemble_for_different_data_is_refused(runs, evaluated, tmp_path):
    name = f"folder:{digit_folder(tmp_path / 'digits', 'train', 'val')}"
    other = copy_run(runs.test, tmp_path / "other", name=name, size=16, per_class=None)
    rule = r"must be for the same data.* got folder:.* beside digits"
    with pytest.raises(ValueError, match=rule):
        evaluated([runs.test, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("change", [{"validation": 0}, {"seed": 1}])
def test_an_ensemble_whose_members_held_out_other_images_is_refused(
    runs, evaluated, tmp_path, change
):
    other = copy_run(runs.held, tmp_path / "other", **change)
    with pytest.raises(ValueError, match="must be for the same data"):
        evaluated([runs.held, other], tmp_path / "out")


def test_data_that_have_got_other_classes_are_refused(runs, tmp_path):
    root = digit_folder(tmp_path / "digits", "train", "val")
    for part in ("train", "val"):
        shutil.rmtree(root / part / "9")
    name = f"folder:{root}"
    other = copy_run(runs.test, tmp_path / "other", name=name, size=16, per_class=None)
    with pytest.raises(ValueError, match="evaluate: "):
        open_run(other, None, "cpu")


@pytest.mark.parametrize("draws", [0, 1.5, True])
def test_a_number_of_draws_that_is_none_is_refused(draws):
    with pytest.raises(ValueError, match="evaluate: draws must be a whole number >= 1"):
        EvaluationOptions(draws=draws)


@pytest.mark.parametrize(
    ("folders", "out", "rule"),
    [
        ([], None, "at least one run must be given, got none; name a run's folder"),
        (["run"], "out", "out is for --ensemble"),
    ],
)
def test_the_command_refuses_no_run_and_a_needless_out(folders, out, rule):
    with pytest.raises(ValueError, match=f"evaluate: {rule}"):
        next(evaluate_each(folders, EvaluationOptions(), False, out, Console(quiet=True)))


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("out", [None, "mine"])
def test_an_ensemble_goes_beside_its_first_run_or_where_it_is_told(
    runs, tmp_path, out, monkeypatch
):
    monkeypatch.setattr("softaug.evaluation.command._table", lambda found: "")
    first = copy_run(runs.test, tmp_path / "first")
    wanted = out and tmp_path / out
    options = EvaluationOptions(device="cpu")
    (folder,) = evaluate_each([first, runs.test], options, True, wanted, Console(quiet=True))
    assert folder == (wanted or tmp_path / "ensemble-first")
    assert (folder / "evaluation.json").is_file()


def test_a_wrong_second_set_is_refused_before_anything_is_measured(runs, evaluated, tmp_path):
    with pytest.raises(ValueError, match="evaluate: also must be NAME=FOLDER"):
        evaluated([runs.test], tmp_path / "out", also=("nonsense",))
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("measured", "unmeasured")
def test_two_second_sets_of_one_name_are_refused(runs, evaluated, tmp_path):
    also = f"again={runs.test / 'again.npz'}"
    with pytest.raises(ValueError, match="again"):
        evaluated([runs.test], tmp_path / "out", also=(also, also))
