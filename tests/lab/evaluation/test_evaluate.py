import hashlib
import importlib
import json
import shutil
import sys
from pathlib import Path

import factories
import numpy as np
import pytest
import safetensors.torch
import torch
from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console

from softaug.lab.data.images import load
from softaug.lab.evaluation.compare import compare_runs, read_evaluation
from softaug.lab.evaluation.evaluate import (
    EvaluationOptions,
    Evaluator,
    evaluate_each,
    format_command,
)
from softaug.lab.evaluation.load_run import TrainedRun, load_run
from softaug.lab.evaluation.metrics import make_corruptions, measure_set
from softaug.lab.training.evaluate import chunks
from softaug.metrics import (
    apply_temperature,
    auroc,
    ensemble_logits,
    error,
    fit_temperature,
    max_probability,
)

PARTS = ("logits", "labels", "temperature")


def predictions(folder):
    return safetensors.torch.load_file(folder / "predictions.safetensors")


@pytest.fixture
def unmeasured(monkeypatch):
    """Checks are made, but nothing is measured after them."""

    def write_only(self, out, command):
        evaluation = factories.make_evaluation(command=command)
        factories.save(evaluation, out / "evaluation.json")
        return evaluation

    monkeypatch.setattr(Evaluator, "evaluate", write_only)


def copy_run(run, folder, **data):
    """A copy of a run whose recipe says something else of its data."""
    shutil.copytree(run, folder)
    recipe = json.loads((folder / "recipe.json").read_text())
    recipe["data"] |= data
    (folder / "recipe.json").write_text(json.dumps(recipe))
    for checkpoint in (folder / "checkpoints").iterdir():
        forget_images(checkpoint)
    result = json.loads((folder / "result.json").read_text())
    del result["run_id"], result["recipe_sha256"], result["sha256"]
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "run.json").unlink()
    return folder


def forget_images(checkpoint):
    """Take out of a checkpoint its run and images, and seal it again."""
    state = json.loads((checkpoint / "state.json").read_text())
    del state["data"], state["run"]
    (checkpoint / "state.json").write_text(json.dumps(state))
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    content = (checkpoint / "state.json").read_bytes()
    manifest["state.json"] = hashlib.sha256(content).hexdigest()
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))


def test_an_evaluation_has_the_numbers_of_training_and_says_what_was_measured(measured, runs):
    assert read_evaluation(runs.test) == measured
    found, result = measured.test_sets["test"], runs.result
    assert (result["split"], found.n, result["num_measured"]) == ("test", 697, 697)
    assert (found.error, found.before["nll"]) == (result["error"], result["nll"])
    assert found.before["ece_10"] == pytest.approx(result["ece"], abs=1e-3)
    assert (measured.schema_version, measured.kind, measured.split) == (3, "evaluation", "test")
    assert (measured.name, measured.class_names) == ("on-test", list("0123456789"))
    assert measured.recipe == json.loads((runs.test / "recipe.json").read_text())
    (member,) = measured.members
    assert (member.seed, member.step, len(member.history)) == (0, 6, 2)
    assert (member.num_steps, member.finished) == (6, True)
    assert measured.fill == [round(mean) for mean in load_run(runs.test, None, "cpu").data.mean]
    assert [path.name for path in runs.test.glob(".*")] in ([".lock"], []), "no unfinished file"


def test_accuracy_is_that_of_the_corrupted_images(measured, runs):
    run, place = load_run(runs.test, None, "cpu"), 3
    shift = make_corruptions(measured.fill)[1]
    right, labels = [], list(run.data.measured.labels.split(500))
    for chunk, images in enumerate(chunks(run.data.measured, 0)):
        answers = run.predict(shift.corrupt(images, place, 0, chunk)).argmax(1)
        right.append(answers == labels[chunk])
    accuracy = float(torch.cat(right).double().mean())
    assert measured.corruptions["shift"].accuracy[place] == pytest.approx(accuracy)
    assert list(measured.corruptions) == ["occlusion", "shift", "noise"]
    for result in measured.corruptions.values():
        assert result.accuracy[0] == pytest.approx(1 - measured.test_sets["test"].error)
        assert (len(result.accuracy), len(result.se), result.n) == (5, 5, 697)


def test_predictions_are_kept_with_their_labels(measured, runs):
    kept = predictions(runs.test)
    assert kept.keys() == {
        *(f"{name}_{part}" for name in ("test", "again") for part in PARTS),
        *("occlusion_right", "shift_right", "noise_right"),
    }
    assert kept["test_logits"].shape == (697, 10)
    assert kept["test_labels"].equal(load("digits").test.labels)
    wrong = float(error(kept["test_logits"], kept["test_labels"]))
    assert wrong == measured.test_sets["test"].error
    content = (runs.test / "predictions.safetensors").read_bytes()
    assert measured.predictions_sha256 == hashlib.sha256(content).hexdigest()
    for name, result in measured.corruptions.items():
        right = kept[f"{name}_right"]
        assert (right.dtype, right.shape, int(right.max())) == (torch.uint8, (697, 5), 1)
        assert right.double().mean(0).tolist() == pytest.approx(result.accuracy)


def test_paths_below_the_current_folder_are_not_told_in_full(
    runs, evaluated, tmp_path, monkeypatch
):
    folder = copy_run(runs.test, tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "again.npz").write_bytes((runs.test / "again.npz").read_bytes())
    also = (f"again={tmp_path / 'again.npz'}",)
    found = evaluated([folder], tmp_path / "out", extra_test_sets=also)
    command = "softaug evaluate mine --draws 1 --corruptions --extra-test-sets again=again.npz"
    command += " --ensemble --out out"
    assert found.command == command
    assert found.members[0].folder == "mine"


def test_other_batchnorm_statistics_are_measured_beside_the_run(runs, tmp_path):
    folder, quiet = copy_run(runs.test, tmp_path / "run"), Console(quiet=True)
    (folder / "evaluation.json").unlink(missing_ok=True)
    options = EvaluationOptions(draws=1, corruptions=(), device="cpu", batchnorm_sigma=0.5)
    (out,) = evaluate_each([folder], options, False, None, quiet)
    assert out == folder / "batchnorm-sigma0.5"
    assert not (folder / "evaluation.json").exists()
    found = read_evaluation(out)
    assert found.command.endswith("--corruptions --batchnorm-sigma 0.5")
    assert found.test_sets["test"].before["nll"] != runs.result["nll"]


def test_a_training_that_was_not_finished_is_told(runs, evaluated, tmp_path):
    folder = copy_run(runs.test, tmp_path / "run")
    shutil.rmtree(max((folder / "checkpoints").iterdir()))
    (member,) = evaluated([folder], folder).members
    assert (member.step, member.num_steps, member.finished) == (3, 6, False)
    assert [row.step for row in member.history] == [3], "what came after is not of it"


def test_held_out_images_are_measured_in_place_of_the_test_set(runs, evaluated, tmp_path):
    folder = copy_run(runs.held, tmp_path / "run")
    found = evaluated([folder], folder, held_out=True)
    assert (found.split, list(found.test_sets)) == ("validation", ["validation"])
    trained = json.loads((runs.held / "result.json").read_text())
    assert trained["split"] == "validation"
    assert found.test_sets["validation"].n == 30
    assert found.test_sets["validation"].error == pytest.approx(trained["error"])
    assert "--held-out" in found.command


def test_without_a_test_set_the_split_is_called_validation(runs, evaluated, tmp_path):
    test = load("digits").test
    for label in range(10):
        (tmp_path / "digits" / str(label)).mkdir(parents=True)
        for place in (test.labels == label).nonzero()[:3, 0].tolist():
            pixels = test.images[place].permute(1, 2, 0).numpy()
            Image.fromarray(pixels).save(tmp_path / "digits" / str(label) / f"{place}.png")
    name = f"folder:{tmp_path / 'digits'}"
    change = {"name": name, "size": 16, "per_class": None, "validation": 20}
    folder = copy_run(runs.test, tmp_path / "run", **change)
    found = evaluated([folder], folder)
    assert (found.split, list(found.test_sets)) == ("validation", ["validation"])
    assert found.test_sets["validation"].n == 20
    assert found.temperature.how.startswith("each half of the validation images")
    assert "validation_logits" in predictions(folder)
    assert compare_runs([folder], tmp_path / "out").arms[0].seeds == [0]
    shutil.rmtree(tmp_path / "digits" / "9")
    with pytest.raises(ValueError, match=r"evaluate: .* must have the classes it was trained on"):
        load_run(folder, None, "cpu")


def test_a_diverged_network_is_refused(runs, evaluated, tmp_path, monkeypatch):
    def lost(run, images):
        return torch.full((len(images), 10), torch.nan)

    monkeypatch.setattr(TrainedRun, "predict", lost)
    with pytest.raises(ValueError, match=r"logits must be finite.*; a diverged model cannot"):
        evaluated([runs.test], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_extra_test_set_is_measured_by_itself(measured, runs):
    kept = predictions(runs.test)
    logits, labels = kept["again_logits"], kept["again_labels"]
    assert torch.allclose(logits, kept["test_logits"][:60], atol=1e-4)
    assert labels.equal(kept["test_labels"][:60])
    temperature = fit_temperature(kept["test_logits"], kept["test_labels"])
    scaled = apply_temperature(logits, temperature)
    assert measured.test_sets["again"] == measure_set(logits, labels, scaled)


def test_other_images_than_the_trained_ones_are_refused(runs, evaluated, tmp_path):
    """Else held-out images could be training images, and a temperature fitted on them."""
    folder = shutil.copytree(runs.test, tmp_path / "run")
    recipe = json.loads((folder / "recipe.json").read_text())
    recipe["data"]["validation"] = 30
    (folder / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(
        ValueError, match=r"recipe.json must be that of the checkpoints in .*, got another"
    ):
        evaluated([folder], folder)


def test_the_command_gives_the_same_numbers_again_and_imports_few_files(
    measured, runs, tmp_path, monkeypatch
):
    also = f"again={runs.test / 'again.npz'}"
    assert measured.command == f"softaug evaluate {runs.test} --draws 1 --extra-test-sets {also}"
    again = Path(shutil.copytree(runs.test, tmp_path / "run"))
    (again / "evaluation.json").unlink()
    nothing = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    monkeypatch.setattr(Figure, "savefig", lambda self, file, **_: file.write(nothing))
    with monkeypatch.context() as fresh:
        for name in [one for one in sys.modules if one.partition(".")[0] == "softaug"]:
            fresh.delitem(sys.modules, name)
        before = set(sys.modules)
        cli = importlib.import_module("softaug.lab.cli")
        cli.run_command("evaluate", [str(again), "--draws", "1", "--device", "cpu"])
        new = {name: sys.modules[name] for name in set(sys.modules) - before}
        ours = sorted(
            n for n in new if n.startswith("softaug.") and not hasattr(new[n], "__path__")
        )
        for name in new:
            fresh.delitem(sys.modules, name)
    assert 30 < len(ours) <= 40, " ".join(ours)
    found = read_evaluation(again)
    assert found.test_sets["test"] == measured.test_sets["test"]
    assert found.corruptions == measured.corruptions
    assert (again / "report.html").is_file()


def test_the_other_half_sets_the_temperature_without_held_out_images(measured, runs):
    kept = predictions(runs.test)
    halves = [
        fit_temperature(kept["test_logits"][half::2], kept["test_labels"][half::2])
        for half in (1, 0)
    ]
    assert measured.temperature.values == halves
    assert "half" in measured.temperature.how


def test_held_out_images_set_the_temperature_where_there_are_some(held_measured, runs):
    assert held_measured.test_sets["test"].n == 697, "measured on the test set all the same"
    run = load_run(runs.held, None, "cpu")
    held = run.data.measured
    with torch.no_grad():
        expected = fit_temperature(run.net(held.images), held.labels)
    (temperature,) = held_measured.temperature.values
    assert temperature == pytest.approx(expected, rel=1e-3)
    assert held_measured.temperature.how.startswith("fitted on 30 training images")
    kept = predictions(runs.held)
    logits = kept["test_logits"].double() / temperature
    after = float(torch.nn.functional.cross_entropy(logits, kept["test_labels"]))
    assert held_measured.test_sets["test"].after["nll"] == pytest.approx(after)


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
    assert found.test_sets["test"].error == float(error(logits, load("digits").test.labels))
    assert found.name == "on-held-ensemble"
    assert [member.step for member in found.members] == [3, 6]


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("change", [{"validation": 0}, {"seed": 1}])
def test_an_ensemble_whose_members_held_out_other_images_is_refused(
    runs, evaluated, tmp_path, change
):
    other = copy_run(runs.held, tmp_path / "other", **change)
    with pytest.raises(ValueError, match="must be for the same data"):
        evaluated([runs.held, other], tmp_path / "out")


def test_only_the_corruptions_that_are_named_are_measured_and_compared(
    measured, runs, evaluated, tmp_path
):
    other = copy_run(runs.test, tmp_path / "run")
    recipe = json.loads((other / "recipe.json").read_text()) | {"name": "other"}
    (other / "recipe.json").write_text(json.dumps(recipe))
    found = evaluated([other], other, corruptions=("shift",))
    assert found.corruptions == {"shift": measured.corruptions["shift"]}
    assert found.test_sets == {"test": measured.test_sets["test"]}, "nothing else changes"
    assert found.examples == measured.examples, "occluded ones are shown all the same"
    assert found.command == f"softaug evaluate {other} --draws 1 --corruptions shift"
    both = compare_runs([runs.test, other], tmp_path / "both")
    assert {m.key.partition("/")[0] for m in both.metrics if "/" in m.key} == {"shift"}


def test_common_corruptions_other_classes_and_human_labels_are_measured_and_compared(
    measured, runs, evaluated, tmp_path, monkeypatch
):
    monkeypatch.setattr("softaug.metrics.common_corruptions.COMMON_CORRUPTIONS", ("fog", "jpeg"))
    other, people = copy_run(runs.test, tmp_path / "run"), tmp_path / "human.npy"
    labels = predictions(runs.test)["test_labels"]
    np.save(people, torch.nn.functional.one_hot(labels).double().numpy())  # all agree
    options = {"corruptions": ("common",), "ood": ("fashion-mini",), "human_labels": people}
    found = evaluated([other], other, **options)
    assert list(found.corruptions) == ["common/fog", "common/jpeg"]
    fog = found.corruptions["common/fog"]
    assert (fog.levels, fog.draws) == ([0, 1, 2, 3, 4, 5], 1)
    assert found.values["common/fog"] == pytest.approx(sum(fog.accuracy[1:]) / 5)
    assert found.values["human_nll"] == pytest.approx(measured.values["nll"], rel=1e-6)
    outside = predictions(other)["ood/fashion-mini_logits"]
    scores = (max_probability(one) for one in (predictions(other)["test_logits"], outside))
    auroc_key = "ood/fashion-mini-max-probability"
    assert found.values[auroc_key] == pytest.approx(float(auroc(*scores)), abs=1e-6)
    said = f"--corruptions common --ood fashion-mini --human-labels {people}"
    assert found.command.endswith(said)
    twin = Path(shutil.copytree(other, tmp_path / "twin"))
    changed = found.model_copy(update={"name": "twin"})
    factories.save(changed, twin / "evaluation.json")
    (pair,) = compare_runs([other, twin], tmp_path / "both").pairs
    assert pair.by_image.keys() >= {"common/mean", "common/jpeg", auroc_key, "human_nll"}
    assert {interval.value for interval in pair.by_image.values()} == {0}


REFUSED = {
    "no number held out": ({"held_out": True}, "needs runs that held out .* got on-test; train"),
    "one image": ({"extra_test_sets": 1}, "the more set must hold at least 2 images, got 1"),
    "same name": ({"extra_test_sets": 2}, "must have different names, got more twice"),
    "nonsense": ({"extra_test_sets": ("nonsense",)}, "extra_test_sets must be NAME=FOLDER"),
    "export": ({"export": Path("a.safetensors")}, "export is for one run that learned without"),
    "resize": ({"resize": (32,)}, "resize is for images in folders"),
}


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(("options", "rule"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_measured_is_refused_first(
    measured, runs, evaluated, tmp_path, options, rule
):
    if isinstance(num := options.get("extra_test_sets"), int):
        with np.load(runs.test / "again.npz") as arrays:
            np.savez(tmp_path / "one.npz", **{name: arrays[name][:num] for name in arrays})
        options = {"extra_test_sets": (f"more={tmp_path / 'one.npz'}",) * num}
    with pytest.raises(ValueError, match=f"evaluate: .*{rule}"):
        evaluated([runs.test], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def evaluate_nothing(*runs, out=None):
    next(evaluate_each(runs, EvaluationOptions(), False, out, Console(quiet=True)))


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: EvaluationOptions(draws=0), "draws must be a whole number >= 1"),
        (lambda: EvaluationOptions(draws=256), "draws must be at most 255, got 256"),
        (lambda: EvaluationOptions(corruptions=("noises",)), ".*did you mean 'noise'"),
        (lambda: evaluate_nothing(), "at least one run must be given, got none; name a run's"),
        (lambda: evaluate_nothing("run", out="out"), "out is for --ensemble"),
    ],
)
def test_bad_options_are_refused(call, rule):
    with pytest.raises(ValueError, match=f"evaluate: {rule}"):
        call()


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("out", [None, "mine"])
def test_an_ensemble_goes_beside_its_first_run_or_where_it_is_told(runs, tmp_path, out):
    first = copy_run(runs.test, tmp_path / "first")
    wanted = out and tmp_path / out
    options = EvaluationOptions(device="cpu")
    (folder,) = evaluate_each([first, runs.test], options, True, wanted, Console(quiet=True))
    assert folder == (wanted or tmp_path / "ensemble-first")
    assert (folder / "evaluation.json").is_file()


def test_other_evaluations_are_not_written_over(ensemble, runs, evaluated, tmp_path, monkeypatch):
    _, out = ensemble
    member = out.with_name("member")
    before = (out / "evaluation.json").read_bytes()
    rule = r"must not hold the evaluation of others, got .*member and .*test; choose another --out"
    with pytest.raises(ValueError, match=rule):
        evaluated([member, runs.test, runs.test], out)
    assert (out / "evaluation.json").read_bytes() == before
    (tmp_path / "evaluation.json").write_text("mine")
    with pytest.raises(ValueError, match="evaluation of others, got what cannot be read"):
        evaluated([runs.test, runs.test], tmp_path)
    with pytest.raises(ValueError, match="evaluate: an ensemble's folder must not be a member's"):
        evaluated([member, runs.test], member / ".." / "member")
    monkeypatch.setattr(Evaluator, "evaluate", lambda self, out, command: "measured")
    assert evaluated([runs.test, member], out) == "measured", "the same members"


@pytest.mark.usefixtures("unmeasured")
def test_a_folder_of_members_is_their_ensemble_and_joins_a_larger_one(runs, tmp_path, monkeypatch):
    of_members = tmp_path / "both"  # as `softaug train --members` makes it
    for seed in (9, 10):
        copy_run(runs.test, of_members / f"member-seed{seed}")
    opened = []
    monkeypatch.setattr(Evaluator, "__init__", lambda self, runs, *_: opened.extend(runs))
    monkeypatch.chdir(of_members.parent)
    factories.save(factories.make_evaluation(), of_members / "evaluation.json")  # of fewer members
    options, quiet = EvaluationOptions(), Console(quiet=True)
    assert list(evaluate_each([of_members], options, False, None, quiet)) == [of_members]
    assert [run.folder.name for run in opened] == ["member-seed9", "member-seed10"]
    assert read_evaluation(of_members).command == "softaug evaluate both --draws 3"
    (folder,) = evaluate_each([of_members, runs.test], options, True, None, quiet)
    parts = [of_members / "member-seed9", of_members / "member-seed10", runs.test]
    assert folder == of_members.parent / "ensemble-both"
    assert read_evaluation(folder).command == format_command(parts, options, folder)
