import hashlib
import shutil

import pytest
import safetensors.torch
import torch

from softaug.lab.evaluation.load_run import load_run, runs_in
from softaug.lab.training.evaluate import chunks


def checkpoints(folder):
    return sorted((folder / "checkpoints").glob("step-*"))


@pytest.fixture
def copied(runs, tmp_path):
    """A copy of a run that may be damaged."""
    shutil.copytree(runs.test, tmp_path / "run")
    return tmp_path / "run"


def damage(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_newest_checkpoint_is_opened(runs):
    run = load_run(runs.test, None, "cpu")
    assert len(checkpoints(runs.test)) == 2
    assert (run.step, run.recipe.name, run.net.training) == (6, "on-test", False)
    weights = (checkpoints(runs.test)[-1] / "ema.safetensors").read_bytes()
    assert run.weights_sha256 == hashlib.sha256(weights).hexdigest()


def test_averaged_weights_are_taken_where_there_are_some(runs):
    for folder, name, prefix in ((runs.test, "ema", "module."), (runs.held, "model", "")):
        kept = safetensors.torch.load_file(checkpoints(folder)[-1] / f"{name}.safetensors")
        for key, tensor in load_run(folder, None, "cpu").net.state_dict().items():
            assert tensor.equal(kept[f"{prefix}{key}"])


@pytest.mark.parametrize("name", ["ema.safetensors", "state.json", "manifest.json", "lost"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(copied, name):
    newest = checkpoints(copied)[-1]
    if name == "lost":
        (newest / "ema.safetensors").unlink()
    else:
        damage(newest / name)
    assert load_run(copied, None, "cpu").step == 3
    assert len(checkpoints(copied)) == 2, "evaluating changes nothing in the run"


def remove_recipe(run):
    (run / "recipe.json").unlink()


def change_recipe(text):
    def change(run):
        content = (run / "recipe.json").read_text()
        (run / "recipe.json").write_text(text or content.replace('"epochs"', '"epoch"'))

    return change


def damage_all(run):
    for kept in checkpoints(run):
        damage(kept / "model.safetensors")


BROKEN = {
    "no recipe": (remove_recipe, r"must be a run's folder, got no recipe.json; name a folder that"),
    "no folder": (shutil.rmtree, r"must be a run's folder, got no recipe.json"),
    "no JSON": (change_recipe("{"), r"recipe.json: the file must be JSON with finite numbers, got"),
    "NaN": (change_recipe('{"epochs": NaN}'), r"recipe.json: the file must be JSON with finite"),
    "unknown": (change_recipe(""), r"got 'epoch'; did you mean 'epochs'\?"),
    "no checkpoint": (
        lambda run: shutil.rmtree(run / "checkpoints"),
        r"^curves: .*must hold a checkpoint, got none; `softaug train .*out",
    ),
    "only damaged ones": (
        damage_all,
        r"^curves: .*must be whole, got step-00000006: model.*step-00000003",
    ),
}


@pytest.mark.parametrize(("harm", "rule"), BROKEN.values(), ids=BROKEN)
def test_a_broken_run_is_refused_with_a_remedy_in_the_name_of_who_asked(copied, harm, rule):
    harm(copied)
    with pytest.raises(ValueError, match=rule):
        load_run(copied, None, "cpu", "curves")


def test_a_run_stands_for_itself_also_beside_members(copied):
    (copied / "member-seed0").mkdir()
    assert runs_in(copied) == [copied]
    (copied / "recipe.json").unlink()
    assert runs_in(copied) == [copied / "member-seed0"]


def test_images_are_told_apart_by_what_was_held_out(runs):
    told = [load_run(folder, None, "cpu").image_set for folder in (runs.test, runs.held)]
    assert told == ["digits (fine)", "digits (fine, 30 held out by seed 0)"]


def test_predictions_do_not_depend_on_the_chunks(runs):
    run = load_run(runs.test, None, "cpu")
    source = run.data.measured
    parts = list(chunks(source, 0))
    assert [len(part) for part in parts] == [500, 197]
    assert torch.cat(parts).equal(source.images)
    some = run.predict(source.images[490:510])
    all_parts = torch.cat([run.predict(part) for part in parts])
    assert some.dtype == torch.float32
    assert torch.allclose(some, all_parts[490:510], atol=1e-4)
