"""Suite "training", part c: two processes of one thread against one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from softaug.bench.table import Bound, Row, Table
from softaug.bench.timing import Timing
from softaug.training.environment import num_cores

LEAST = 1.7
ONE = "1 process"
TWO = "2 processes (gloo)"
APART = "2 processes that do not exchange gradients: what the machine allows"
NOTE = "ratio: images/s by wall time, one thread a process, the same batch over all processes."


def processes_table(model: str, num_images: int, batch: int, rounds: int, steps: int) -> Table:
    """Images a second of one batch over two processes; more is better here."""
    title = f"Training {model}, batch {batch}, in processes of one thread"
    if num_cores() < 2:
        return Table(title, ONE, "images/s", [Row(TWO, note="needs two cores")])
    timing = measure_processes(model, num_images, batch, rounds, steps)
    rows = [_row(timing, name, batch * steps) for name in (ONE, TWO, APART)]
    return Table(title, ONE, "images/s", rows, [processes_bound(timing)], [NOTE])


def processes_bound(timing: Timing) -> Bound:
    """What a second process must bring."""
    gain = timing.ratio(ONE, TWO).median
    return Bound(f"{TWO} / {ONE}", gain, LEAST, at_least=True)


def measure_processes(model: str, num_images: int, batch: int, rounds: int, steps: int) -> Timing:
    """Wall seconds of each way, measured by turns within one launch of two processes."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "seconds.json"
        _torchrun(str(out), model, *map(str, (num_images, batch, rounds, steps)))
        seconds = json.loads(out.read_text())
    ways = {ONE: "alone", TWO: "together", APART: "apart"}
    return Timing({name: seconds[way] for name, way in ways.items()})


def _torchrun(*arguments: str) -> None:
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *launch, "-m", "softaug.bench.training_pair", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"bench: the two processes failed: {done.stderr[-2000:]}")


def _row(timing: Timing, name: str, num_images: int) -> Row:
    return Row(name, timing.ratio(ONE, name), num_images / timing.median(name))
