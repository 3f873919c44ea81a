import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import safetensors.torch
import team_harness
import torch
from team_harness import free_ports
from tiny_runs import BARLOW, rows, run, tiny, tiny_pairs, weights

from softaug.lab.models.registry import MODELS
from softaug.lab.recipes import Mix, Pace, as_dict, from_dict
from softaug.lab.training.distributed import DistContext, choose_device, init_distributed
from softaug.lab.training.setup import build_net, load_data
from softaug.lab.training.supervised import Supervised

LEVELS = "pacer/tables/levels"
HARNESS = Path(team_harness.__file__)
ALONE = DistContext(0, 1, torch.device("cpu"))


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with init_distributed("cpu") as team:
        assert team == ALONE
        assert team.is_rank_zero


def test_alone_everything_is_a_matter_of_course():
    values = torch.tensor([1.0, 2.0])
    ALONE.broadcast(values)
    assert ALONE.all_reduce(values).tolist() == [1.0, 2.0]
    assert ALONE.all_gather_object("word") == ["word"]
    assert ALONE.broadcast_object("word") == "word"
    assert ALONE.run_on_rank_zero(lambda: 3) == 3


def test_alone_a_refusal_is_passed_on_and_what_is_held_is_let_go():
    seen = []

    @contextmanager
    def held():
        seen.append("held")
        yield
        seen.append("let go")

    with ALONE.enter_on_rank_zero(held()):
        seen.append("used")
    assert seen == ["held", "used", "let go"]
    with pytest.raises(ValueError, match="no"):
        ALONE.run_on_rank_zero(lambda: (_ for _ in ()).throw(ValueError("no")))


def test_a_device_that_is_not_here_is_refused():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda")
    for name in ("gpu", "xla:3"):
        with pytest.raises(ValueError, match=f"device must be one that torch has here, got {name}"):
            choose_device(name)


PACE = Pace("accuracy-hold", since=0.0, settle=0.0, most=0.4)
RUNS = {
    "uneven": {"model": "group-norm", "batch": 25, "epochs": 3, "data_per_class": 6},
    "batch-mean": {"model": "group-norm", "batch": 25, "loss_weighting": "batch_mean"},
    "cutmix": {"model": "group-norm", "mix": Mix("cutmix"), "batch": 25},
    "online": {"model": "group-norm", "loss_online_smoothing": 0.5, "batch": 25, "epochs": 3},
    "paced": {"model": "group-norm", "epochs": 3, "augment_pace": PACE},
    "by-sample": {
        "model": "group-norm",
        "epochs": 3,
        "augment_pace": Pace("confidence-match", by="sample", settle=0.0, most=0.4),
    },
    "norm": {"loss_online_smoothing": 0.5, "optim_ema": 0.5},
}
PAIRS = {
    "simsiam-uneven": {"model": "group-norm", "batch": 25, "weight_mode": "SA2"},
    "barlow-uneven": {"model": "group-norm", "batch": 25, "method": BARLOW},
}
LIKE_ONE = [name for name, changes in RUNS.items() if changes.get("model") == "group-norm"]


@pytest.fixture(scope="module", autouse=True)
def known_model():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODELS, "group-norm", team_harness.group_norm)
        patch.setattr(torch.nn, "BatchNorm1d", team_harness.SampleNorm)
        yield


class Team(NamedTuple):
    """What two processes did."""

    place: Path
    codes: list[list[int]]  # of each process, by command
    said: str


def torchrun(place, name, commands):
    """The commands in two processes; the exit code and what was said."""
    file, ports = place / f"{name}.json", free_ports(len(commands))
    pairs = zip(commands, ports, strict=True)
    file.write_text(json.dumps([{**command, "port": port} for command, port in pairs]))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    process = subprocess.Popen(
        [*launch, str(HARNESS), str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        said, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its processes, which a kill would leave behind
        said, _ = process.communicate()
    return process.returncode, said


def recipe(name):
    return tiny_pairs(**PAIRS[name]) if name in PAIRS else tiny(**RUNS[name])


def train(place, name, *more, like="", act=None):
    file = place / f"{name}.recipe.json"
    file.write_text(json.dumps(as_dict(recipe(like or name))))
    out = ["--out", str(place / name), "--threads", "1"]
    return {"arguments": ["train", str(file), *out, *more], "act": act}


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """One start of torchrun whose processes are all killed; then one for all other runs."""
    place = tmp_path_factory.mktemp("team")
    kill = {"step": 4, "rank": None, "signal": 9}
    each = ("--checkpoint-steps", "1")  # at each step processes agree whether to stop
    killed = train(place, "killed", *each, like="norm")
    code, broken = torchrun(place, "killed", [{**killed, "act": kill}])
    assert code != 0, broken
    terminate = {"step": 4, "rank": 1, "signal": 15}
    commands = [
        *(train(place, name) for name in (*RUNS, *PAIRS)),
        train(place, "stopped", *each, like="norm", act=terminate),
        train(place, "stopped", like="norm"),
        train(place, "uneven", "--optim.lr", "0.05"),
        train(place, "by-sample-stopped", *each, like="by-sample", act=terminate),
        train(place, "by-sample-stopped", like="by-sample"),
        killed,
    ]
    code, said = torchrun(place, "first", commands)
    assert code == 0, said
    codes = [json.loads((place / f"first-rank{rank}.json").read_text()) for rank in (0, 1)]
    return Team(place, codes, said)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", LIKE_ONE)
def test_two_processes_learn_what_one_learns(team, name, tmp_path, one_thread):
    folder, (result, _) = team.place / name, run(recipe(name), tmp_path)
    found = json.loads((folder / "result.json").read_text())
    assert found["processes"] == 2
    assert found["error"] == result["error"]
    assert_alike(folder, tmp_path, result, ("train_loss", "train_error", "lr"))
    if name in ("paced", "by-sample"):  # the very strengths
        strengths = [(row["sigma"], row["lead"]) for row in rows(tmp_path)]
        assert len({sigma for sigma, _ in strengths}) > 1
    if name == "paced":
        assert [(row["sigma"], row["lead"]) for row in rows(folder)] == strengths
    if name == "by-sample":
        levels = [
            safetensors.torch.load_file(max(one.glob("checkpoints/*/task.safetensors")))[LEVELS]
            for one in (tmp_path, folder)
        ]
        assert len(levels[0].unique()) > 2
        assert torch.equal(*levels)


def assert_alike(folder, expected, result, columns):
    """The same rows and last weights, but for rounding."""
    for column in columns:
        values = [row[column] for row in rows(expected)]
        assert [row[column] for row in rows(folder)] == pytest.approx(values, rel=1e-5, abs=1e-5)
    files = [safetensors.torch.load_file(one / result["weights"]) for one in (folder, expected)]
    torch.testing.assert_close(*files, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", PAIRS)
def test_two_processes_learn_from_pairs_what_one_learns(team, name, tmp_path, one_thread):
    result, _ = run(recipe(name), tmp_path)
    found = json.loads((team.place / name / "result.json").read_text())
    assert found["processes"] == 2
    assert found["knn_error"] == pytest.approx(result["knn_error"], abs=0.05)
    assert_alike(team.place / name, tmp_path, result, ("train_loss", "lr"))


def test_a_process_asked_to_stop_stops_all_and_they_go_on_later(team):
    assert team.codes[0] == team.codes[1] == [0] * len(RUNS | PAIRS) + [130, 0, 2, 130, 0, 0]
    assert weights(team.place / "stopped") == weights(team.place / "norm")
    assert rows(team.place / "stopped") == rows(team.place / "norm")
    assert "stopped after step 5 of 6" in team.said
    assert team.said.count("run the same command to go on") == 2


@pytest.mark.parametrize(("name", "like"), [("killed", "norm"), ("by-sample-stopped", "by-sample")])
def test_processes_that_were_killed_or_stopped_go_on_to_the_same_bits(team, name, like):
    assert weights(team.place / name) == weights(team.place / like)
    assert rows(team.place / name) == rows(team.place / like)


def test_a_refusal_is_said_once(team):
    assert team.said.count("holds a run of another recipe") == 1
    assert "optim.lr: 0.1 -> 0.05" in team.said
    assert "Traceback" not in team.said


def test_the_measured_average_is_the_saved_one(team, one_thread):
    folder = team.place / "norm"
    result = json.loads((folder / "result.json").read_text())
    recipe = from_dict(result["recipe"])
    data = load_data(recipe, None)
    net = build_net(recipe, data)
    saved = safetensors.torch.load_file(folder / result["weights"])
    parts = {k.removeprefix("module."): v for k, v in saved.items() if k.startswith("module.")}
    net.load_state_dict(parts)
    found = Supervised(recipe, data).evaluate(net)
    assert found["nll"] == pytest.approx(result["nll"], abs=1e-5)
