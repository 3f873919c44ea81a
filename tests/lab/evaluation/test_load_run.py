import hashlib
import json
import shutil

import pytest
import safetensors.torch
import torch

from softaug.lab.evaluation.load_run import load_run, read_recipe, runs_in
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
    kept = checkpoints(runs.test)[-1]
    average, last = (
        safetensors.torch.load_file(kept / f"{name}.safetensors") for name in ("ema", "model")
    )
    for name, tensor in load_run(runs.test, None, "cpu").net.state_dict().items():
        assert tensor.equal(average[f"module.{name}"])
    weight = "net.linear.weight"
    assert not average[f"module.{weight}"].equal(last[weight])


def test_without_averaged_weights_the_last_ones_are_taken(runs):
    last = safetensors.torch.load_file(checkpoints(runs.held)[-1] / "model.safetensors")
    for name, tensor in load_run(runs.held, None, "cpu").net.state_dict().items():
        assert tensor.equal(last[name])


@pytest.mark.parametrize("name", ["ema.safetensors", "state.json", "manifest.json"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(copied, name):
    damage(checkpoints(copied)[-1] / name)
    assert load_run(copied, None, "cpu").step == 3
    assert len(checkpoints(copied)) == 2, "evaluating changes nothing in the run"


def test_a_missing_file_is_a_damage(copied):
    (checkpoints(copied)[-1] / "ema.safetensors").unlink()
    assert load_run(copied, None, "cpu").step == 3


def test_only_damaged_checkpoints_are_refused_each_with_its_damage(copied):
    for kept in checkpoints(copied):
        damage(kept / "model.safetensors")
    with pytest.raises(ValueError, match=r"must be whole, got step-00000006: model.*step-00000003"):
        load_run(copied, None, "cpu")


def test_a_run_without_checkpoint_is_refused_with_the_command_that_makes_one(copied):
    shutil.rmtree(copied / "checkpoints")
    with pytest.raises(ValueError, match=r"must hold a checkpoint, got none; `softaug train .*out"):
        load_run(copied, None, "cpu")


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_that_is_no_run_is_refused(tmp_path, name):
    rule = r"must be a run's folder, got no recipe.json; name a folder that `softaug train` made"
    with pytest.raises(ValueError, match=rule):
        load_run(tmp_path / name, None, "cpu")


def test_a_run_stands_for_itself_also_beside_members(copied):
    (copied / "member-seed0").mkdir()
    assert runs_in(copied) == [copied]
    (copied / "recipe.json").unlink()
    assert runs_in(copied) == [copied / "member-seed0"]


def test_images_are_told_apart_by_what_was_held_out(runs):
    told = [load_run(folder, None, "cpu").image_set for folder in (runs.test, runs.held)]
    assert told == ["digits (fine)", "digits (fine, 30 held out by seed 0)"]


@pytest.mark.parametrize("lost", ["recipe.json", "checkpoints"])
def test_what_is_missing_is_refused_in_the_name_of_who_asked(copied, lost):
    (copied / lost).rename(copied / "lost")
    with pytest.raises(ValueError, match=r"^curves: .*run must "):
        load_run(copied, None, "cpu", "curves")


def test_a_recipe_that_is_no_json_is_refused_by_name(copied):
    (copied / "recipe.json").write_text("{")
    rule = r"evaluate: .*recipe.json: the file must be JSON with finite numbers, got Expecting"
    with pytest.raises(ValueError, match=rule):
        read_recipe(copied)


def test_a_recipe_with_an_unknown_setting_is_refused(copied):
    recipe = json.loads((copied / "recipe.json").read_text())
    (copied / "recipe.json").write_text(json.dumps({**recipe, "epoch": 3}))
    with pytest.raises(ValueError, match=r"got 'epoch'; did you mean 'epochs'\?"):
        read_recipe(copied)


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
