"""Files of a run that are another run's, or damaged, are refused by name; none is used."""

import json
import os
import random
import shutil

import pytest
from test_resume import crashed
from tiny_runs import STEPS, run, tiny, weights

from softaug.lab.training.checkpoint import load, steps
from softaug.lab.training.finetune import find_weights_file
from softaug.lab.training.run_dir import read_result

FILES = ["recipe.json", "run.json", "result.json"]
CONTENTS = [b"[]", b"null", b"{}", b"", b"\xff\xfe", b"[" * 100_000, b'{"seed": %d}' % 10**30]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run, one of another learning rate, and two that broke off."""
    folder = tmp_path_factory.mktemp("runs")
    run(tiny(), folder / "done")
    run(tiny(optim_lr=0.05), folder / "other")
    with pytest.MonkeyPatch.context() as patch:
        crashed(folder / "half", patch, STEPS + 1)
        crashed(folder / "other-half", patch, STEPS + 1, tiny(optim_lr=0.05))
    return folder


@pytest.fixture
def copy(runs, tmp_path):
    """Copy a run, and put parts of others into it."""

    def copied(name, *parts):
        shutil.copytree(runs / name, tmp_path / name)
        for part in parts:
            target = tmp_path / name / part.split("/", 1)[1]
            if target.is_dir():
                shutil.rmtree(target)
            target.unlink(missing_ok=True) if target.is_file() else None
            (shutil.copytree if (runs / part).is_dir() else shutil.copy)(runs / part, target)
        return tmp_path / name

    return copied


def test_a_run_its_checkpoints_and_its_result_have_one_identity(runs):
    identity = json.loads((runs / "done/run.json").read_text())
    del identity["schema_version"], identity["sha256"]
    result = json.loads((runs / "done/result.json").read_text())
    assert identity == {name: result[name] for name in ("run_id", "recipe_sha256")}
    for path in steps(runs / "done/checkpoints"):
        assert load(path).state["run"] == identity


@pytest.mark.parametrize("name", FILES)
def test_any_flipped_bit_is_noticed(copy, name):
    path, draw = copy("done") / name, random.Random(0)
    content = path.read_bytes()
    for _ in range(100):
        changed = bytearray(content)
        changed[draw.randrange(len(content) - 1)] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        if json_of(changed) == json_of(content):
            continue  # white space, or another way to write the same
        with pytest.raises(ValueError, match=name.partition(".")[0]):
            read_result(path.parent, tiny())


def json_of(content):
    try:
        return json.loads(content)
    except ValueError:
        return None


EXCHANGED = [
    ("half", ["other-half/checkpoints"], r"step-00000003 must belong to the run in .*half"),
    ("half", ["done/checkpoints"], r"step-00000006 must belong to the run in .*half"),
    ("half", ["other/result.json"], r"must be the same to go on, .*\n  optim.lr: 0.05 -> 0.1"),
    ("half", ["done/result.json"], r"result.json must belong to the run in"),
    ("half", ["other/recipe.json"], r"must be the same to go on, .*\n  optim.lr: 0.05 -> 0.1"),
    ("half", ["other/run.json"], r"recipe.json must be that of run.json, got another"),
    ("done", ["other/checkpoints", "other/result.json"], r"optim.lr: 0.05 -> 0.1"),
]


@pytest.mark.parametrize(("name", "parts", "message"), EXCHANGED, ids=str)
def test_parts_of_another_run_are_refused(copy, name, parts, message):
    folder = copy(name, *parts)
    before = weights(folder)
    with pytest.raises(ValueError, match=message):
        run(tiny(), folder)
    assert weights(folder) == before


@pytest.mark.parametrize("name", FILES[:2])
@pytest.mark.parametrize("finished", [True, False])
def test_steps_without_a_recipe_or_an_identity_are_refused(copy, name, finished):
    folder = copy("done" if finished else "half")
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"{name}.* got .*restore the file, or train again"):
        run(tiny(), folder)


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: repr(content[:8]))
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_table_of_its_kind_is_refused_by_name(copy, name, content):
    folder = copy("done")
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}.* got ") as refused:
        run(tiny(), folder)
    assert len(str(refused.value)) < 3000


@pytest.mark.parametrize("name", FILES)
def test_a_fifo_is_refused_at_once(copy, name):
    folder = copy("done")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ValueError, match=f"{name}.*not a regular file"):
        run(tiny(), folder)


def test_weights_to_fine_tune_come_from_the_newest_checkpoint_that_is_whole(copy):
    folder = copy("done")
    last = steps(folder / "checkpoints")[-1] / "model.safetensors"
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    assert find_weights_file(str(folder)).parent.name == "step-00000003"


def test_a_folder_called_as_markup_is_printed_as_it_is(copy, tmp_path):
    folder = copy("done").rename(tmp_path / "[red]x")
    assert "[red]x is finished" in run(tiny(), folder)[1]
