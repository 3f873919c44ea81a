"""One run: trained and evaluated, quietly, once."""

import json
from dataclasses import replace
from unittest.mock import Mock

import pytest
from filelock import FileLock
from grid_runs import DIGITS, OPTIONS, finish, grid_run, planned, write

from softaug.checks import NotFiniteError
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


def test_a_run_that_diverges_is_done_and_another_recipe_is_tried_in_its_place(tmp_path):
    wild, tame = (
        grid_run(tmp_path, epochs=1, optim=replace(DIGITS.optim, lr=lr)) for lr in (1e30, 0.01)
    )
    told = try_run(wild, OPTIONS).diverged
    assert "the loss of every sample must be finite, got nan at step 1" in told
    assert json.loads((wild.folder / "diverged.json").read_text())["message"] == told
    assert get_state(wild.folder) == "diverged"
    assert not (wild.folder / "failure.json").exists()
    before = times(wild.folder)
    assert try_run(wild, OPTIONS) == Outcome("run")
    assert times(wild.folder) == before
    assert is_done(wild, OPTIONS)
    assert not is_done(tame, OPTIONS)
    assert try_run(tame, OPTIONS) == Outcome("run")
    assert get_state(tame.folder) == "finished"


@pytest.mark.parametrize(
    ("error", "outcome", "state"),
    [
        (StoppedError("stopped after step 3"), {"stopped": True}, "waiting"),
        (KeyboardInterrupt(), {"stopped": True}, "waiting"),
        (KeyError("absent"), {"error": "KeyError: 'absent'"}, "failed"),
        (
            NotFiniteError("logits must be finite"),
            {"diverged": "logits must be finite"},
            "diverged",
        ),
    ],
)
def test_how_a_run_ends_is_told_by_what_is_raised(tmp_path, monkeypatch, error, outcome, state):
    monkeypatch.setattr(module, "train", Mock(side_effect=error))
    run = grid_run(tmp_path)
    assert try_run(run, OPTIONS) == Outcome("run", **outcome)
    assert get_state(run.folder) == state
    assert ("Traceback" in (run.folder / "log.txt").read_text()) == (state == "failed")


def test_one_process_at_a_time_does_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
    run = grid_run(tmp_path)
    run.folder.mkdir(parents=True)
    with FileLock(run.folder / LOCK):
        assert get_state(run.folder) == "running"
        outcome = try_run(run, OPTIONS)
    assert outcome.error.startswith("reproduce: only one process may do")
    assert not (run.folder / "failure.json").exists()


def test_a_second_test_set_that_has_come_since_is_measured_on(tmp_path):
    plan = planned(tmp_path, "table7", scale="paper")
    run, options = plan.runs[0], GridOptions(data_dir=tmp_path)
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
    for file, state in (
        ("metrics.jsonl", "begun"),
        ("result.json", "begun"),  # trained but not evaluated
        ("failure.json", "failed"),
        ("diverged.json", "diverged"),
        ("evaluation.json", "finished"),
    ):
        write(run / file, {"message": "no", "when": ""})
        assert get_state(run) == state
    one, two = (tmp_path / "ensemble" / f"member-seed{seed}" for seed in (0, 1))
    for file, state in (
        (one / "metrics.jsonl", "begun"),
        (two / "metrics.jsonl", "begun"),
        (one / "result.json", "begun"),
        (tmp_path / "ensemble/evaluation.json", "begun"),
        (two / "result.json", "finished"),
    ):
        write(file, {})
        assert get_state(tmp_path / "ensemble") == state
