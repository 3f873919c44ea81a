"""Damaged files: each file of a run's folder flipped, cut, emptied, swapped, removed, replaced.

What is left must be refused by the name of the run or file, or read as it was written: an earlier
checkpoint that is whole, with the rows of its steps. Some attempts train to the end and compare.
"""

import io
import os
import random
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

from kill_harness import PACE
from rich.console import Console
from tiny_runs import tiny

from campaign.attempts import Outcome, Part
from campaign.runs import (
    Kind,
    finish,
    last_words,
    read_state,
    signal_at_step,
    start,
    train_one,
    wait,
)
from softaug.lab import schema
from softaug.lab.evaluation.evaluate import EvaluationOptions, evaluate_runs
from softaug.lab.training.checkpoint import load, newest
from softaug.lab.training.logging import MetricLogger, read_metrics
from softaug.lab.training.run_dir import begin_run, check_belongs, read_result

RECIPE = tiny(epochs=3, optim_ema=0.9, loss_online_smoothing=0.5, augment_pace=PACE)
OTHER = tiny(epochs=3, optim_ema=0.9, loss_online_smoothing=0.5, augment_pace=PACE, seed=1)
BATCH = 25  # damages in an attempt
CHANGES = (
    *("flip a bit", "flip a bit", "flip bytes", "cut", "empty", "grow", "zeros", "remove"),
    *("swap with another run's", "swap with a sibling"),
    *("a folder in its place", "a FIFO in its place"),
)


def prepare(folder: Path) -> SimpleNamespace:
    """Make a finished run that was evaluated, one that broke off, and two of another seed."""
    kinds = {"": Kind(train_one(RECIPE)), "other-": Kind(train_one(OTHER))}
    options = EvaluationOptions(draws=1, device="cpu", corruptions=())
    for prefix, kind in kinds.items():
        done, half = folder / f"{prefix}done", folder / f"{prefix}half"
        assert finish(kind, done) == [0], last_words(done)
        hook = signal_at_step(6, signal.SIGKILL, lambda: None)
        assert wait(start(kind, half, hook)) == [-signal.SIGKILL], last_words(half)
        evaluate_runs([done], done, options, Console(file=io.StringIO()))
    files, wholes = {}, {}
    for name in ("done", "half"):
        files[name] = sorted(path for path in (folder / name).rglob("*") if path.is_file())
        whole = map(load, sorted((folder / name / "checkpoints").glob("step-*")))
        wholes[name] = {one.state["step"]: one.sha256 for one in whole}
    final = read_state(folder / "done")
    return SimpleNamespace(folder=folder, kind=kinds[""], files=files, wholes=wholes, final=final)


def attempt(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Damage copies of a run, one file of each; now and then train on."""
    labels: list[str] = []
    for number in range(BATCH):
        name = draw.choice(("done", "half", "half"))
        run = folder / f"{number}"
        copy_tree(bench.folder / name, run)
        file = draw.choice(bench.files[name])
        file = run / file.relative_to(bench.folder / name)
        change = draw.choice(CHANGES)
        same = damage(file, change, bench.folder / f"other-{name}" / file.relative_to(run), draw)
        labels += [change, f"of {kind_of(file)}"]
        problem = judge_done(bench, run) if name == "done" else judge_half(bench, name, run)
        if not problem and name == "half" and draw.random() < 0.01:
            problem = judge_training(bench, run)
            labels.append("trained on to the end")
        if problem and not same:
            return Outcome(
                number + 1, f"{change}: {file.relative_to(folder)}: {problem}", tuple(labels)
            )
        shutil.rmtree(run)
    return Outcome(BATCH, "", tuple(labels))


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder by links: what is damaged is written anew."""
    shutil.copytree(source, target, copy_function=os.link)


def kind_of(file: Path) -> str:
    """Name a file for the table."""
    return "events" if "tfevents" in file.name else file.name


def damage(file: Path, change: str, other: Path, draw: random.Random) -> bool:
    """Do it; return whether the bytes are the same as before."""
    before = file.read_bytes()
    content = bytearray(before)
    if change == "flip a bit" and content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif change == "flip bytes" and content:
        for _ in range(draw.randint(1, 30)):
            content[draw.randrange(len(content))] = draw.randrange(256)
    elif change == "cut":
        content = content[: draw.randrange(len(content) + 1)]
    elif change == "empty":
        content = bytearray()
    elif change == "grow":
        content += draw.randbytes(draw.randint(1, 200))
    elif change == "zeros" and content:
        first = draw.randrange(len(content))
        length = min(draw.randint(1, 4096), len(content) - first)
        content[first : first + length] = bytes(length)
    elif change.startswith("swap with another"):
        content = bytearray(other.read_bytes() if other.is_file() else b"")
    elif change.startswith("swap with a sibling"):
        siblings = sorted(one for one in file.parent.iterdir() if one.is_file() and one != file)
        if siblings:
            content = bytearray(draw.choice(siblings).read_bytes())
    file.unlink()
    if change == "a folder in its place":
        file.mkdir()
    elif change == "a FIFO in its place":
        os.mkfifo(file)
    elif change != "remove":
        file.write_bytes(content)
        return bytes(content) == before
    return False


def judge_done(bench: SimpleNamespace, run: Path) -> str:
    """Read result and evaluation: as they were, or refused."""
    try:
        result = read_result(run, RECIPE)
    except (ValueError, OSError) as refused:
        return "" if names(refused, run) else f"unnamed: {refused}"
    if result is None:  # removed: the run goes on from its checkpoints
        return judge_half(bench, "done", run)
    expected = read_result(bench.folder / "done", RECIPE)
    if result != expected:
        return f"the result is {result}, was {expected}"
    try:
        evaluation = schema.read_evaluation(run / "evaluation.json")
    except (ValueError, OSError) as refused:
        return "" if names(refused, run) else f"unnamed: {refused}"
    whole = schema.read(bench.folder / "done" / "evaluation.json", schema.Evaluation)
    return "" if evaluation == whole else "the evaluation reads as another"


def judge_half(bench: SimpleNamespace, name: str, run: Path) -> str:
    """Resume as training does: from a checkpoint as it was written, or refused."""
    said: list[str] = []
    try:
        identity = begin_run(run, RECIPE)
        checkpoint = newest(run / "checkpoints", said.append)
        if checkpoint is None:
            return f"it begins anew, without a word: {said}"
        check_belongs(run, identity, checkpoint.path.name, checkpoint.state["run"])
        if checkpoint.sha256 != bench.wholes[name][checkpoint.state["step"]]:
            return f"step {checkpoint.state['step']} has other bytes"
        MetricLogger(run, checkpoint.state["rows"], said.append).close()
    except (ValueError, OSError) as refused:
        return "" if names(refused, run) else f"unnamed: {refused}"
    if read_metrics(run) != checkpoint.state["rows"]:
        return f"rows are {read_metrics(run)}"
    return ""


def judge_training(bench: SimpleNamespace, run: Path) -> str:
    """Train on to the end: the same bits, or refused by name."""
    codes = finish(bench.kind, run)
    if codes == [2] and "refused: " in last_words(run) and str(run) in last_words(run):
        return ""
    if codes != [0]:
        return f"ended with {codes}: {last_words(run)}"
    return "" if read_state(run) == bench.final else "trained on to another end"


def names(refused: Exception, run: Path) -> bool:
    """Tell whether a refusal names the run, and so where to look."""
    return str(run) in str(refused) or run.name in str(refused)


PART = Part("damage", "damaged files", 20_000, 0.16, prepare, attempt)
