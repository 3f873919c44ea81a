"""Attempts: numbered, each a function of (seed, part, number), made in a process that may die."""

import contextlib
import hashlib
import json
import os
import random
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 400.0  # seconds without an answer: the attempt hangs
MAX_LISTED = 20  # failures written out for each part
EACH = 20  # attempts, to a line of progress


class Outcome(NamedTuple):
    """What came of an attempt."""

    tried: int
    """signals, damages, faults, calls or files"""
    problem: str = ""
    """why it did not survive; empty if it did"""
    kinds: tuple[str, ...] = ()
    """what was tried, one name for each, to be counted in the table"""


@dataclass(frozen=True)
class Part:
    """A chapter of the campaign."""

    name: str
    unit: str
    target: int
    """of tries, in a full campaign"""
    share: float
    """of the budget"""
    prepare: Callable[[Path], Any]
    """makes in a folder what the attempts need"""
    attempt: Callable[[Any, random.Random, Path], Outcome]
    """makes one attempt in a folder of its own"""


@dataclass
class Tally:
    """What was counted of a part."""

    tried: int = 0
    attempts: int = 0
    failed: int = 0
    seconds: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def draws(seed: int, part: str, number: int) -> random.Random:
    """Return the random numbers of an attempt, which depend on nothing else."""
    digest = hashlib.sha256(f"{seed}/{part}/{number}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def run_part(part: Part, seed: int, seconds: float, folder: Path, only: int | None = None) -> Tally:
    """Make attempts for so long, or attempt number `only`; a worker that dies is a failure."""
    folder.mkdir(parents=True)
    tally, begun = Tally(), time.monotonic()
    bench = part.prepare(folder)
    until = begun + seconds
    number = first = only or 0
    while time.monotonic() < until or number == first:
        worker, pipe = _fork_worker(part, bench, seed, number, until, folder, only is not None)
        number = _listen(worker, pipe, part, seed, number, tally)
        if only is not None:
            break
    tally.seconds = time.monotonic() - begun
    return tally


def _fork_worker(
    part: Part, bench: Any, seed: int, first: int, until: float, folder: Path, once: bool
) -> tuple[int, int]:
    """Start a process that makes attempts from `first` on and says of each how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.setpgid(0, 0)
    os.close(reading)
    number, code = first, 1
    try:
        while number == first or (time.monotonic() < until and not once):
            outcome = _try(part, bench, draws(seed, part.name, number), folder / f"n{number}")
            os.write(writing, (json.dumps([number, *outcome]) + "\n").encode())
            number += 1
        code = 0
    finally:
        os._exit(code)


def _try(part: Part, bench: Any, draw: random.Random, folder: Path) -> Outcome:
    import shutil

    folder.mkdir(parents=True, exist_ok=True)
    try:
        outcome = part.attempt(bench, draw, folder)
    except BaseException:
        return Outcome(1, traceback.format_exc(limit=-6)[-1500:])
    if not outcome.problem:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome._replace(problem=outcome.problem[-1500:])


def _listen(worker: int, pipe: int, part: Part, seed: int, number: int, tally: Tally) -> int:
    """Count what a worker says until it ends; return the number to go on with."""
    text = b""
    hangs = False
    while True:
        ready, _, _ = select.select([pipe], [], [], PATIENCE)
        if not ready:
            hangs = True
            break
        piece = os.read(pipe, 65536)
        if not piece:
            break
        text += piece
        *lines, text = text.split(b"\n")
        for line in lines:
            number, tried, problem, kinds = json.loads(line)
            _count(tally, part, seed, number, Outcome(tried, problem, tuple(kinds)))
            number += 1
            if tally.attempts % EACH == 0:
                print(f"{part.name}: {tally.tried:,} {part.unit}", flush=True)
    os.close(pipe)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if hangs or status not in (0, -signal.SIGKILL):
        problem = f"no answer in {PATIENCE:.0f} s" if hangs else f"the process ended with {status}"
        _count(tally, part, seed, number, Outcome(1, problem))
        number += 1
    return number


def _count(tally: Tally, part: Part, seed: int, number: int, outcome: Outcome) -> None:
    tally.attempts += 1
    tally.tried += outcome.tried
    for kind in outcome.kinds:
        tally.kinds[kind] = tally.kinds.get(kind, 0) + 1
    if outcome.problem:
        tally.failed += 1
        command = f"python -m campaign --seed {seed} --parts {part.name} --only {number}"
        text = f"{command}\n{outcome.problem}"
        print(text, flush=True)
        if len(tally.failures) < MAX_LISTED:
            tally.failures.append(text)
