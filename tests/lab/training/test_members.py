import json
import sys

import pytest
from tiny_runs import run, tiny

from softaug.lab import cli
from softaug.lab.training.command import member_folders, members

SMALL = ["--epochs", "1", "--batch", "20", "--data.per-class", "5", "--data.validation", "30"]


def test_ensembles_of_different_seeds_share_no_member():
    seeds = [[member.seed for member in members(tiny(members=3, seed=seed))] for seed in (0, 1)]
    assert seeds == [[0, 1, 2], [3, 4, 5]]


def test_a_member_is_the_recipe_with_a_seed_of_its_own():
    first = members(tiny(members=2, seed=4))[0]
    assert first == tiny(seed=8)


def test_the_name_of_an_ensemble_stands_once_in_its_evaluation():
    assert members(tiny(name="mine-ensemble", members=2))[0].name == "mine"


def test_a_run_of_several_networks_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a run has one network, got 2 members"):
        run(tiny(members=2), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_command_trains_the_members_and_measures_their_mean(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["softaug", "train", "digits-resnet8-soft", *SMALL, "--members", "2", "--out", "both"]
    monkeypatch.setattr(sys, "argv", words)
    cli.main()
    found = json.loads((tmp_path / "both" / "evaluation.json").read_text())
    assert [member["seed"] for member in found["members"]] == [0, 1]
    assert found["name"] == "digits-resnet8-soft-ensemble"
    assert (tmp_path / "both" / "report.html").exists()
    assert "Report: both/report.html" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["softaug", "evaluate", "both"])
    cli.main()
    again = json.loads((tmp_path / "both" / "evaluation.json").read_text())
    assert again["command"] == "softaug evaluate both --draws 3"
    assert {name for name in found if again[name] != found[name]} <= {"environment", "sha256"}


def test_members_are_found_in_the_order_of_their_seeds(tmp_path):
    for seed in (10, 9, 11):
        (tmp_path / f"member-seed{seed}").mkdir()
    (tmp_path / "member-seeds.txt").touch()
    names = [folder.name for folder in member_folders(tmp_path)]
    assert names == ["member-seed9", "member-seed10", "member-seed11"]
