"""Signals: kill -9, TERM and INT at random steps, seconds and file calls, in every kind of run.

After some signals the same command runs to its end: weights, rows and result must be those of a
run that was never stopped, to the bit.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from grid_runs import DIGITS, OPTIONS, workers_of
from team_harness import descendants
from tiny_runs import final_state, tiny

from campaign.attempts import Outcome, Part
from campaign.runs import (
    STOPPED,
    Kind,
    finish,
    last_words,
    make_kinds,
    read_state,
    signal_at_step,
    signal_in_call,
    start,
    wait,
)
from softaug.lab.recipes import as_dict
from softaug.lab.reproduce.run_one import GridRun, run_one

NUMBERS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST = 10  # signals to a run, then it is left alone
SLOW = ("torchrun", "grid on Ray")  # an attempt takes a minute
GRID_EPOCHS = 12


def prepare(folder: Path) -> SimpleNamespace:
    """Finish a run of each kind without a signal."""
    kinds = make_kinds(folder)
    states, seconds = {}, {}
    for name, kind in kinds.items():
        begun = time.monotonic()
        codes = finish(kind, folder / name)
        assert not any(codes), (name, codes, last_words(folder / name))
        states[name], seconds[name] = read_state(folder / name), time.monotonic() - begun
    recipe = tiny(loss_online_smoothing=0.5, optim_ema=0.5)
    (folder / "team.json").write_text(json.dumps(as_dict(recipe)))
    grid = make_grid(folder / "grid")[0]
    run_one(grid, OPTIONS)
    states["torchrun"], states["grid on Ray"] = states["two processes"], final_state(grid.folder)
    return SimpleNamespace(folder=folder, kinds=kinds, states=states, seconds=seconds)


def attempt(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Send a run up to ten signals, let it end, compare."""
    name = draw.choices([*bench.kinds, *SLOW], [1.0] * len(bench.kinds) + [0.06, 0.06])[0]
    if name == "torchrun":
        return interrupt_torchrun(bench, draw, folder)
    if name == "grid on Ray":
        return interrupt_grid(bench, draw, folder)
    kind, run, sent = bench.kinds[name], folder / "run", []
    for _ in range(draw.randint(3, MOST)):
        num = len(sent)
        moment, problem = send_one(kind, run, draw, bench.seconds[name], sent)
        if not problem and len(sent) == num:
            break  # it ended before the signal
        if problem:
            return Outcome(max(len(sent), 1), f"{name}: {moment}: {problem}", tuple(sent))
    codes = finish(kind, run)
    labels = tuple(sent) + tuple(f"to {name}" for _ in sent)
    if any(codes):
        return Outcome(max(len(sent), 1), f"{name}: {codes}: {last_words(run)}", labels)
    return Outcome(len(sent), compare(name, read_state(run), bench.states[name]), labels)


def compare(name: str, state: object, expected: object) -> str:
    """Say what differs; nothing if all bits agree."""
    return "" if state == expected else f"{name}: {state}\nis not\n{expected}"[:1500]


def send_one(
    kind: Kind, run: Path, draw: random.Random, seconds: float, sent: list[str]
) -> tuple[str, str]:
    """Start a run and send it one signal; say when, and what went wrong."""
    number = draw.choice(NUMBERS)
    where = draw.choice(("step", "call", "second"))
    reading, writing = os.pipe()
    note = lambda: os.write(writing, b"x")  # noqa: E731
    at, rank = 0, draw.randrange(kind.processes)
    if where == "step":
        at = draw.randint(0, 3)
        hook = signal_at_step(at, number, note)
    else:
        at = draw.randint(0, 45) if where == "call" else 0
        hook = signal_in_call(at, number, note) if where == "call" else lambda: None
    moment = draw.uniform(0.05, 0.7) * seconds
    children = start(kind, run, hook, rank if where == "step" else 0)
    if where == "second":
        time.sleep(moment)
        send([children[rank]], number)
    codes = wait(children)
    if where == "second" and any(codes):  # else it had ended
        note()
    os.close(writing)
    done = os.read(reading, 1)
    os.close(reading)
    text = f"{signal.Signals(number).name} at {where} {at or f'{moment:.2f}'}"
    if done:
        sent.append(f"{signal.Signals(number).name} at a {where}")
    good = {0, STOPPED, -number} if done else {0}
    if kind.processes > 1:
        good |= {1, -signal.SIGKILL, -signal.SIGABRT}  # the other one lost its partner
    if set(codes) <= good:
        return text, ""
    return text, f"ended with {codes}: {last_words(run)}"


def interrupt_torchrun(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Send signals to torchrun, or to all that it started; then let it end."""
    run, sent = folder / "run", []
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    train = ["train", str(bench.folder / "team.json"), "--out", str(run), "--threads", "1"]
    more = ["--checkpoint-steps", "2", "--device", "cpu"]
    command = [sys.executable, "-m", *torchrun, "-m", "softaug", *train, *more]
    for _ in range(draw.randint(1, 2)):
        process = begin(command, f"{run}.log")
        wait_for(process, [run], draw.uniform(0, 3))
        number, everyone = draw.choice(NUMBERS), descendants([process.pid])
        if process.poll() is None:
            sent.append(f"{signal.Signals(number).name} to torchrun")
            send([process.pid] if draw.random() < 0.5 else everyone, number)
        end(process, everyone)
    code = end(begin(command, f"{run}.log"), set())
    labels = (*sent, *("to torchrun" for _ in sent))
    if code:
        return Outcome(max(len(sent), 1), f"torchrun: {code}: {last_words(run)}", labels)
    return Outcome(
        len(sent), compare("torchrun", read_state(run), bench.states["torchrun"]), labels
    )


def make_grid(folder: Path) -> list[GridRun]:
    """Make two runs of one recipe, whose weights must be the same."""
    recipe = replace(DIGITS, epochs=GRID_EPOCHS)
    return [GridRun(name, recipe, folder / "runs" / name) for name in ("one", "two")]


def interrupt_grid(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Kill a worker of Ray, then signal the driver; then let the grid end."""
    runs, sent, log = make_grid(folder), list[str](), f"{folder}/run.log"
    command = [sys.executable, "-m", "campaign.ray_driver", str(folder)]
    for _ in range(draw.randint(1, 2)):
        process = begin(command, log)
        wait_for(process, [run.folder for run in runs], draw.uniform(0, 2))
        workers = [worker for run in runs for worker in workers_of(run)]
        if workers and draw.random() < 0.5:
            send([draw.choice(workers)], signal.SIGKILL)
            sent.append("SIGKILL to a worker of Ray")
            time.sleep(draw.uniform(0, 2))
        number, everyone = draw.choice(NUMBERS), descendants([process.pid])
        if process.poll() is None:
            send([process.pid], number)
            sent.append(f"{signal.Signals(number).name} to the driver of a grid")
        end(process, everyone)
    code = end(begin(command, log), set())
    labels = (*sent, *("to grid on Ray" for _ in sent))
    if code:
        return Outcome(max(len(sent), 1), f"grid: {code}: {last_words(folder / 'run')}", labels)
    expected = bench.states["grid on Ray"]
    problems = [compare("grid", final_state(run.folder), expected) for run in runs]
    return Outcome(len(sent), next(filter(None, problems), ""), labels)


def begin(command: list[str], log: str) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own."""
    with open(log, "ab") as file:
        return subprocess.Popen(
            command,
            stdout=file,
            stderr=file,
            start_new_session=True,
            cwd=Path(__file__).parent.parent,
        )


def wait_for(process: subprocess.Popen[bytes], folders: list[Path], seconds: float) -> None:
    """Wait for a checkpoint in one of the folders, or the process's end, and some seconds more."""
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        if any(any(folder.glob("checkpoints/step-*")) for folder in folders):
            break
        time.sleep(0.02)
    time.sleep(seconds)


def end(process: subprocess.Popen[bytes], everyone: set[int], seconds: float = 300.0) -> int:
    """Wait for a command, then end what it started and left behind."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        everyone = everyone | descendants([process.pid])
    send(everyone, signal.SIGKILL)
    return process.wait(30)


def send(processes: Iterable[int], number: int) -> None:
    """Send a signal to those that are still there."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


PART = Part("signals", "signals", 1_000, 0.42, prepare, attempt)
