"""A run's state is told from its folder alone."""

import pytest
from fake_runs import finish, write
from filelock import FileLock

from softaug.lab.reproduce.plan import LOCK, state_of


def test_a_folder_that_is_not_there_waits(tmp_path):
    assert state_of(tmp_path / "none") == "waiting"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["metrics.jsonl", "checkpoints/step-00000003/state.json"])
def test_metrics_or_a_checkpoint_is_a_beginning(tmp_path, name):
    write(tmp_path / name, {})
    assert state_of(tmp_path) == "begun"


def test_a_held_lock_is_a_run_that_goes_on_and_a_free_one_is_not(tmp_path):
    write(tmp_path / "metrics.jsonl", {})
    with FileLock(tmp_path / LOCK):
        assert state_of(tmp_path) == "running"
    assert state_of(tmp_path) == "begun"


def test_a_failure_is_told(tmp_path):
    write(tmp_path / "metrics.jsonl", {})
    write(tmp_path / "failure.json", {"message": "no", "when": ""})
    assert state_of(tmp_path) == "failed"


def test_a_divergence_is_told(tmp_path):
    write(tmp_path / "metrics.jsonl", {})
    write(tmp_path / "diverged.json", {"message": "no", "when": ""})
    assert state_of(tmp_path) == "diverged"


def test_trained_but_not_evaluated_is_not_finished(tmp_path):
    write(tmp_path / "metrics.jsonl", {})
    write(tmp_path / "result.json", {})
    assert state_of(tmp_path) == "begun"
    finish(tmp_path)
    assert state_of(tmp_path) == "finished"


def test_an_ensemble_is_finished_when_its_members_and_its_evaluation_are(tmp_path):
    write(tmp_path / "member-seed0" / "result.json", {})
    write(tmp_path / "member-seed0" / "metrics.jsonl", {})
    assert state_of(tmp_path) == "begun"
    write(tmp_path / "member-seed1" / "metrics.jsonl", {})
    write(tmp_path / "evaluation.json", {})
    assert state_of(tmp_path) == "begun"
    write(tmp_path / "member-seed1" / "result.json", {})
    assert state_of(tmp_path) == "finished"
