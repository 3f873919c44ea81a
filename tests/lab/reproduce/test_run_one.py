"""One run: trained and evaluated, quietly, once."""

import json
import time
from dataclasses import replace

import pytest
import torch
from filelock import FileLock
from run_files import finish, planned, write
from small_runs import DIGITS, OPTIONS, grid_run

from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.reproduce import run_one as module
from softaug.lab.reproduce.run_one import (
    LOCK,
    GridOptions,
    Outcome,
    get_state,
    is_done,
    run_one,
    try_run,
)
from softaug.lab.training.trainer import StoppedError
from softaug.metrics import confusion_matrix


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_trained_and_evaluated_quietly_and_then_left_alone(tmp_path, capfd):
    run = grid_run(tmp_path, epochs=1)
    assert try_run(run, OPTIONS) == Outcome("run")
    assert get_state(run.folder) == "finished"
    assert "epoch 1/1" in (run.folder / "log.txt").read_text()
    assert capfd.readouterr() == ("", "")
    before = times(run.folder)
    run_one(run, OPTIONS)
    assert times(run.folder) == before


def test_an_ensemble_trains_its_members_and_is_measured_as_one(tmp_path):
    run = grid_run(tmp_path, name="digits-ensemble", epochs=1, members=2)
    run_one(run, OPTIONS)
    assert get_state(run.folder) == "finished"
    evaluation = json.loads((run.folder / "evaluation.json").read_text())
    assert [member["seed"] for member in evaluation["members"]] == [0, 1]


def test_a_failure_is_kept_until_the_run_is_begun_again(tmp_path, monkeypatch):
    run = grid_run(tmp_path, epochs=1)
    bad = replace(run, recipe=replace(run.recipe, data=replace(run.recipe.data, per_class=10**6)))
    outcome = try_run(bad, OPTIONS)
    kept = json.loads((run.folder / "failure.json").read_text())
    assert outcome.error == kept["message"]
    assert "per_class: num must be at most the images of class 0" in kept["message"]
    assert get_state(run.folder) == "failed"
    monkeypatch.setattr(module, "_evaluate", lambda *_: None)
    assert try_run(run, OPTIONS).error is None
    assert not (run.folder / "failure.json").exists()


def diverging(tmp_path, lr=1e30):
    return grid_run(tmp_path, epochs=1, optim=replace(DIGITS.optim, lr=lr))


def test_a_run_that_diverges_is_done_and_not_tried_again(tmp_path):
    run = diverging(tmp_path)
    told = try_run(run, OPTIONS).diverged
    assert "the loss of every sample must be finite, got nan at step 1" in told
    assert json.loads((run.folder / "diverged.json").read_text())["message"] == told
    assert get_state(run.folder) == "diverged"
    assert not (run.folder / "failure.json").exists()
    assert is_done(run, OPTIONS)
    before = times(run.folder)
    assert try_run(run, OPTIONS) == Outcome("run")
    assert times(run.folder) == before


def test_another_recipe_is_tried_where_one_diverged(tmp_path):
    try_run(diverging(tmp_path), OPTIONS)
    tamer = diverging(tmp_path, lr=0.01)
    assert not is_done(tamer, OPTIONS)
    assert try_run(tamer, OPTIONS) == Outcome("run")
    assert get_state(tamer.folder) == "finished"


def test_an_evaluation_that_meets_numbers_that_are_not_finite_is_a_divergence(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "_train", lambda *_: None)
    broken = torch.full((2, 3), torch.nan), torch.tensor([0, 1])
    monkeypatch.setattr(module, "_evaluate", lambda *_: confusion_matrix(*broken))
    assert "logits must be finite" in try_run(grid_run(tmp_path), OPTIONS).diverged


@pytest.mark.parametrize("stop", [StoppedError("stopped after step 3"), KeyboardInterrupt()])
def test_a_stop_is_no_failure(tmp_path, monkeypatch, stop):
    def train(*_):
        raise stop

    monkeypatch.setattr(module, "train", train)
    run = grid_run(tmp_path)
    assert try_run(run, OPTIONS) == Outcome("run", stopped=True)
    assert not (run.folder / "failure.json").exists()


def test_an_unforeseen_error_is_told_by_its_kind_and_logged_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train", lambda *_: {}["absent"])
    run = grid_run(tmp_path)
    assert try_run(run, OPTIONS).error == "KeyError: 'absent'"
    assert "Traceback" in (run.folder / "log.txt").read_text()


def test_one_process_at_a_time_does_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
    run = grid_run(tmp_path)
    run.folder.mkdir(parents=True)
    begun = time.monotonic()
    with FileLock(run.folder / LOCK):
        outcome = try_run(run, OPTIONS)
    assert outcome.error.startswith("reproduce: only one process may do")
    assert time.monotonic() - begun < 5
    assert not (run.folder / "failure.json").exists()


def test_a_second_test_set_that_has_come_since_is_measured_on(tmp_path):
    plan = planned(tmp_path, "table7", scale="paper")
    run, options = plan.runs[0].run, GridOptions(data_dir=tmp_path)
    finish(run.folder, error=0.5)
    assert is_done(run, options)
    (tmp_path / "imagenetv2-matched-frequency-format-val").mkdir()
    assert not is_done(run, options)
    finish(run.folder, sets=(V2,), error=0.5)
    assert is_done(run, options)


def test_a_run_s_state_is_read_from_its_folder(tmp_path):
    assert get_state(tmp_path / "none") == "waiting"
    assert not (tmp_path / "none").exists()
    write(tmp_path / "begun/checkpoints/step-00000003/state.json", {})
    assert get_state(tmp_path / "begun") == "begun"
    run = tmp_path / "run"
    write(run / "metrics.jsonl", {})
    with FileLock(run / LOCK):
        assert get_state(run) == "running"
    assert get_state(run) == "begun"
    write(run / "result.json", {})  # trained but not evaluated
    assert get_state(run) == "begun"
    write(run / "failure.json", {"message": "no", "when": ""})
    assert get_state(run) == "failed"
    write(run / "diverged.json", {"message": "no", "when": ""})
    assert get_state(run) == "diverged"
    finish(run)
    assert get_state(run) == "finished"


def test_an_ensemble_is_finished_when_its_members_and_its_evaluation_are(tmp_path):
    for seed in (0, 1):
        write(tmp_path / f"member-seed{seed}" / "metrics.jsonl", {})
    write(tmp_path / "member-seed0" / "result.json", {})
    write(tmp_path / "evaluation.json", {})
    assert get_state(tmp_path) == "begun"
    write(tmp_path / "member-seed1" / "result.json", {})
    assert get_state(tmp_path) == "finished"
