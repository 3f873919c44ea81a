import errno
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from rich.console import Console
from tiny_runs import BARLOW, STEPS, before_step, rows, run, tiny, tiny_pairs, weights

from softaug.lab.io import write_json
from softaug.lab.recipes import Augment, UniformOffsets, as_dict
from softaug.lab.training import checkpoint, command
from softaug.lab.training.checkpoint import load, steps
from softaug.lab.training.run_dir import RECIPE, RESULT, RunOptions
from softaug.lab.training.setup import files_sha256
from softaug.lab.training.trainer import MetricBuffer, NonFiniteLossError, StoppedError, Trainer
from softaug.transforms.curves import NAIVE, Curve, write_curves

FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]


class CrashError(Exception):
    """Ends a run without any care."""


def crash():
    raise CrashError


def crashed(folder, monkeypatch, step, recipe=None, **options):
    """A run that broke off before `step`."""
    with monkeypatch.context() as patch:
        before_step(patch, step, crash)
        with pytest.raises(CrashError):
            run(recipe or tiny(), folder, **options)
    return folder


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    """The folder of a tiny run that was never stopped."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    run(tiny(), folder)
    return folder


def assert_like(folder, expected):
    assert weights(folder) == weights(expected)
    assert rows(folder) == rows(expected)


def test_a_run_leaves_its_recipe_rows_checkpoints_and_result(unbroken):
    names = {path.name for path in unbroken.iterdir()} - {".lock"}
    files = {"recipe.json", "run.json", "metrics.jsonl", "result.json"}
    assert names == {*files, "tensorboard", "checkpoints"}
    assert [path.name for path in steps(unbroken / "checkpoints")] == [
        "step-00000003",
        "step-00000006",
    ]
    assert [(row["step"], row["epoch"]) for row in rows(unbroken)] == [(3, 1), (6, 2)]


def test_equal_runs_have_equal_weights_and_another_seed_others(unbroken, tmp_path):
    run(tiny(), tmp_path / "again")
    run(tiny(seed=1), tmp_path / "other")
    assert_like(tmp_path / "again", unbroken)
    assert weights(tmp_path / "other") != weights(unbroken)


def test_a_finished_run_returns_at_once(unbroken, monkeypatch):
    monkeypatch.setattr(command, "Trainer", None)  # nothing is even loaded
    before = weights(unbroken)
    result, said = run(tiny(), unbroken)
    assert said.strip() == f"{unbroken} is finished"
    assert 0 <= result["error"] <= 1
    assert weights(unbroken) == before


def test_the_same_command_goes_on_from_the_last_checkpoint(unbroken, tmp_path, monkeypatch):
    folder = crashed(tmp_path / "run", monkeypatch, STEPS + 1)
    seen = []
    before_step(monkeypatch, STEPS, lambda: seen.append(STEPS))
    before_step(monkeypatch, 0, crash)
    _, said = run(tiny(), folder)
    assert f"going on from step {STEPS} of 6" in said
    assert seen == [STEPS]
    assert_like(folder, unbroken)


def test_a_resumed_fast_network_is_that_of_an_unbroken_run(tmp_path, monkeypatch):
    settings = {"compute_precision": "bfloat16", "optim_ema": 0.9}
    recipe = tiny(model="fastnet", **settings)
    run(recipe, tmp_path / "unbroken")
    folder = crashed(tmp_path / "run", monkeypatch, STEPS + 1, recipe)
    run(recipe, folder)
    assert_like(folder, tmp_path / "unbroken")


def test_a_run_without_a_checkpoint_begins_anew(unbroken, tmp_path, monkeypatch):
    folder = crashed(tmp_path / "run", monkeypatch, 1)
    run(tiny(), folder)
    assert_like(folder, unbroken)


def test_a_crash_in_mid_epoch_loses_no_row(unbroken, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    for step in (2, 5):
        crashed(folder, monkeypatch, step, checkpoint_steps=1)
    _, said = run(tiny(), folder, checkpoint_steps=1)
    assert "going on from step 5 of 6" in said
    assert_like(folder, unbroken)


def test_a_second_process_is_refused(tmp_path, monkeypatch):
    refused = []

    def again():
        with pytest.raises(ValueError, match="only one process may train in") as caught:
            command.train(tiny(), RunOptions(out=tmp_path), Console(quiet=True))
        refused.append(caught.value)

    before_step(monkeypatch, 1, again)
    run(tiny(), tmp_path)
    assert len(refused) == 1


@pytest.mark.parametrize("finished", [True, False])
def test_a_changed_recipe_is_refused_with_the_difference(unbroken, tmp_path, monkeypatch, finished):
    folder = unbroken if finished else crashed(tmp_path / "run", monkeypatch, STEPS + 1)
    before = weights(folder)
    with pytest.raises(ValueError, match="holds a run of another recipe") as refused:
        run(tiny(optim_lr=0.05), folder)
    assert str(refused.value).splitlines()[1:] == ["  optim.lr: 0.1 -> 0.05"]
    assert weights(folder) == before


def damage(path, harm):
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[len(content) // 2] ^= 1
    path.write_bytes(content if harm == "flip" else content[: len(content) // 2])
    if harm == "delete":
        path.unlink()


@pytest.mark.parametrize(
    ("name", "harm"),
    [*((name, "flip") for name in FILES), (FILES[0], "truncate"), (FILES[3], "delete")],
)
def test_a_damaged_checkpoint_is_reported_and_the_one_before_used(
    unbroken, tmp_path, monkeypatch, name, harm
):
    folder = crashed(tmp_path / "run", monkeypatch, 5, checkpoint_steps=2)
    damage(steps(folder / "checkpoints")[-1] / name, harm)
    _, said = run(tiny(), folder, checkpoint_steps=2)
    assert "checkpoint step-00000004 is damaged" in said
    assert "going on from step 3 of 6" in said
    assert_like(folder, unbroken)


def test_only_damaged_checkpoints_are_refused(tmp_path, monkeypatch):
    folder = crashed(tmp_path / "run", monkeypatch, 5, checkpoint_steps=2)
    for path in steps(folder / "checkpoints"):
        damage(path / "model.safetensors", "flip")
    with pytest.raises(ValueError, match="must be whole, got 2 damaged; delete the run's folder"):
        run(tiny(), folder)
    assert not (folder / "result.json").exists()


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
@pytest.mark.parametrize(
    "options",
    [{"workers": 1}, {"workers": 2}, {"evaluate_epochs": 1}, {"checkpoint_steps": 2}],
    ids=str,
)
def test_options_do_not_change_what_is_learned(unbroken, tmp_path, options):
    result, _ = run(tiny(), tmp_path, **options)
    assert weights(tmp_path) == weights(unbroken)
    assert rows(tmp_path)[-1] == rows(unbroken)[-1]
    assert result["train_error_clean"] == rows(unbroken)[-1]["train_error_clean"]


def test_measuring_each_epoch_adds_to_the_rows(unbroken, tmp_path):
    run(tiny(), tmp_path, evaluate_epochs=1)
    assert ["validation_error" in row for row in rows(tmp_path)] == [True, True]
    assert ["validation_error" in row for row in rows(unbroken)] == [False, True]


def test_an_average_of_the_weights_survives_a_crash(tmp_path, monkeypatch):
    recipe = tiny(optim_ema=0.8)
    result, _ = run(recipe, tmp_path / "whole")
    folder = crashed(tmp_path / "run", monkeypatch, STEPS + 1, recipe)
    again, _ = run(recipe, folder)
    assert_like(folder, tmp_path / "whole")
    assert set(weights(folder)) == {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}
    assert result["weights"] == again["weights"] == "checkpoints/step-00000006/ema.safetensors"
    assert [again[name] for name in ("error", "nll")] == [result[name] for name in ("error", "nll")]


@pytest.mark.parametrize("changes", [{"optim_ema": 0.8}, {"method": BARLOW}], ids=str)
def test_pairs_survive_a_crash(tmp_path, monkeypatch, changes):
    recipe = tiny_pairs(**changes)
    result, _ = run(recipe, tmp_path / "whole")
    folder = crashed(tmp_path / "run", monkeypatch, 5, recipe, checkpoint_steps=2)
    again, said = run(recipe, folder, checkpoint_steps=2)
    assert "going on from step 4 of 6" in said
    assert_like(folder, tmp_path / "whole")
    assert again["knn_error"] == result["knn_error"]


def test_a_crash_after_the_last_step_needs_no_step_more(unbroken, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        write = command.write_json
        crashing = lambda content, path, **how: (  # noqa: E731
            crash() if path.name == RESULT else write(content, path, **how)
        )
        patch.setattr(command, "write_json", crashing)
        with pytest.raises(CrashError):
            run(tiny(), tmp_path)
    monkeypatch.setattr(Trainer, "train_step", None)
    result, _ = run(tiny(), tmp_path)
    assert_like(tmp_path, unbroken)
    assert result["train_loss"] == rows(unbroken)[-1]["train_loss"]


def test_another_machine_is_told_of(tmp_path, monkeypatch):
    folder, threads = crashed(tmp_path / "run", monkeypatch, STEPS + 1), torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads + 1)
    _, said = run(tiny(), folder)
    assert f"threads was {threads}, is {threads + 1}: the result will agree" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_says_how_to_go_on(unbroken, tmp_path, monkeypatch, number):
    with monkeypatch.context() as patch:
        before_step(patch, 1, lambda: os.kill(os.getpid(), number))
        with pytest.raises(StoppedError) as stopped:
            run(tiny(), tmp_path)
    assert str(stopped.value) == (
        f"stopped after step 2 of 6, saved in {tmp_path}; run the same command to go on"
    )
    assert [path.name for path in steps(tmp_path / "checkpoints")] == ["step-00000002"]
    run(tiny(), tmp_path)
    assert_like(tmp_path, unbroken)


def terminate_everyone():
    """What a cluster does at the end of the time: SIGTERM to a run and its workers."""
    everyone = [*(child.pid for child in multiprocessing.active_children()), os.getpid()]
    subprocess.run(["kill", "-TERM", *map(str, everyone)], check=True)  # not from the parent
    time.sleep(0.2)


def test_a_signal_to_workers_too_saves(unbroken, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        before_step(patch, 1, terminate_everyone)
        with pytest.raises(StoppedError, match="stopped after step 2 of 6"):
            run(tiny(), tmp_path, workers=1)
    run(tiny(), tmp_path)
    assert_like(tmp_path, unbroken)


def test_a_second_ctrl_c_acts_at_once(tmp_path, monkeypatch):
    handler = signal.getsignal(signal.SIGINT)

    def twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before_step(monkeypatch, 1, twice)
    with pytest.raises(KeyboardInterrupt):
        run(tiny(), tmp_path)
    assert steps(tmp_path / "checkpoints") == []
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_loss_that_is_no_number_stops_with_step_and_samples(tmp_path):
    with pytest.raises(NonFiniteLossError) as refused:
        run(tiny(optim_lr=1e30), tmp_path)
    text = str(refused.value)
    assert "got nan at step 1 for 20 samples: " in text
    assert text.endswith(
        "last good checkpoint: none yet; begin a new run with a smaller optim.lr, "
        "or with optim.clip_norm"
    )
    named = text.partition("samples: ")[2].partition(";")[0].split(", ")
    assert len(set(map(int, named))) == 20
    assert steps(tmp_path / "checkpoints") == []


def spoil_from(monkeypatch, number):
    """Losses of that step and later are no numbers."""
    add = MetricBuffer.add

    def spoiled(self, step, sample, found):
        bad = found._replace(losses=found.losses * float("nan"))
        add(self, step, sample, bad if step >= number else found)

    monkeypatch.setattr(MetricBuffer, "add", spoiled)


def test_what_was_good_before_a_bad_loss_stays(tmp_path, monkeypatch):
    spoil_from(monkeypatch, 5)
    with pytest.raises(NonFiniteLossError, match=r"at step 5 .*checkpoint: .*step-00000005;"):
        run(tiny(), tmp_path, checkpoint_steps=1)
    assert [load(path).state["step"] for path in steps(tmp_path / "checkpoints")] == [4, 5]


def test_weights_that_are_no_numbers_are_not_saved(tmp_path, monkeypatch):
    step = Trainer.train_step

    def spoiled(self, batch):
        step(self, batch)
        if self.step == 3:
            next(self.net.parameters()).data[0] = float("nan")

    monkeypatch.setattr(Trainer, "train_step", spoiled)
    with pytest.raises(NonFiniteLossError, match="weights must be finite, got others after step 3"):
        run(tiny(), tmp_path, checkpoint_steps=1)
    assert [path.name for path in steps(tmp_path / "checkpoints")] == [
        "step-00000001",
        "step-00000002",
    ]


def test_a_full_disk_is_named_and_the_run_goes_on_later(unbroken, tmp_path, monkeypatch):
    write = checkpoint._write

    def full(path, content):
        if path.parent.name == ".writing-00000006" and path.name == "state.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write", full)
        with pytest.raises(OSError, match=r"the disk is full; .* run the same command to go on"):
            run(tiny(), tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000003"]
    run(tiny(), tmp_path)
    assert_like(tmp_path, unbroken)


def test_each_epoch_is_told_where_there_is_no_terminal(tmp_path):
    console = Console(file=io.StringIO(), width=40)
    command.train(tiny(), RunOptions(out=tmp_path), console)
    lines = console.file.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]


def test_a_corrected_command_may_follow_one_that_made_no_step(tmp_path):
    with pytest.raises(ValueError, match="max_shift must be below the image's edge 16"):
        run(tiny(augment_crop=UniformOffsets(40)), tmp_path / "run")
    write_json(
        as_dict(tiny(epochs=9)), tmp_path / "run" / RECIPE
    )  # of a command that ended before its first step
    assert run(tiny(), tmp_path / "run")[0]["error"] <= 1


def test_a_schedule_that_will_break_is_refused_before_the_first_step(tmp_path):
    late = Augment(UniformOffsets(4), schedules=(("crop.max_shift", 0.3, 0.5),))
    with pytest.raises(ValueError, match=r"crop\.max_shift must stay a whole number"):
        run(tiny(augment=late), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def paint(data):
    """Change one pixel of one image."""
    images = data.train.images.clone()
    images[0, 0, 0, 0] += 1
    return data._replace(train=data.train._replace(images=images))


def test_other_images_than_at_the_start_are_refused(tmp_path, monkeypatch):
    folder = crashed(tmp_path / "run", monkeypatch, STEPS + 1)
    load_data = command.load_data
    monkeypatch.setattr(command, "load_data", lambda *of: paint(load_data(*of)))
    with pytest.raises(ValueError, match=r"the images must be those that .* was begun with"):
        run(tiny(), folder)


def test_another_curve_than_at_the_start_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "mine.json"
    write_curves(file, NAIVE, {})
    augment = Augment(UniformOffsets(1), policy="trivialaugment", curves=str(file))
    recipe = tiny(augment=augment)
    folder = crashed(tmp_path / "run", monkeypatch, STEPS + 1, recipe)
    write_curves(file, {**NAIVE, "rotate": Curve("strength", loss=0.5, k=1.0)}, {})
    with pytest.raises(ValueError, match="the files of the recipe must be those"):
        run(recipe, folder)
    write_curves(file, NAIVE, {})
    assert "augment.curves" in run(recipe, folder)[0]["files_sha256"]


def test_a_run_knows_the_curves_of_the_package():
    shipped = tiny(augment=Augment(policy="trivialaugment", curves="cifar100"))
    naive = tiny(augment=Augment(policy="trivialaugment", curves="naive"))
    assert list(files_sha256(shipped)) == ["augment.curves"]
    assert files_sha256(naive) == {}


def test_an_error_with_workers_ends_the_process(tmp_path):
    """Python waits at exit for workers, and they do not heed the signal that it sends them."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from tiny_runs import *; "
        "Trainer.train_step = lambda *_: 1 / 0; run(tiny(), Path(sys.argv[2]), workers=1)"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", code, here, str(tmp_path / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr
