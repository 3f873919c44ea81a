"""Runs `softaug` commands one after the other in this process, one of torchrun's.

    torchrun --nproc-per-node 2 team_harness.py COMMANDS.json

COMMANDS.json is a list of {"arguments": [...], "port": free, "act": ...}; an act sends this
process a signal before a step: {"step": 4, "rank": 1 or null for all, "signal": 15}. For
test_processes.py, which starting torchrun for each run would make slow.
"""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from torch import nn

from softaug.lab.cli import main
from softaug.lab.models.registry import MODELS
from softaug.lab.training.trainer import Trainer


def group_norm(num_classes: int) -> nn.Module:
    """A network without batch statistics: its loss does not depend on how a batch is shared."""
    head = [nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, num_classes)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.GroupNorm(2, 8), *head)


class SampleNorm(nn.LayerNorm):
    """In the place of a head's BatchNorm, for the same reason."""

    def __init__(self, size: int, affine: bool = True) -> None:
        super().__init__(size, elementwise_affine=affine)


def descendants(processes: list[int]) -> set[int]:
    """These processes, and all that they started; torchrun gives its own sessions of their own."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(state[1])
    tree = {*processes}
    while more := {child for child, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return tree


def free_ports(num: int) -> list[int]:
    """Ports of loopback that nothing listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(num)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def run(arguments: list[str], act: dict[str, Any] | None) -> int:
    """The exit code."""
    step = Trainer.train_step

    def acting(self: Trainer, batch: Any) -> None:
        if act and self.step == act["step"] and act["rank"] in (None, self.context.rank):
            os.kill(os.getpid(), act["signal"])
        step(self, batch)

    Trainer.train_step = acting  # type: ignore[method-assign]
    sys.argv = ["softaug", *arguments]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        Trainer.train_step = step  # type: ignore[method-assign]
    return 0


if __name__ == "__main__":
    MODELS["group-norm"] = group_norm
    nn.BatchNorm1d = SampleNorm  # type: ignore[misc, assignment]
    file, codes = Path(sys.argv[1]), []
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    for command in json.loads(file.read_text()):
        os.environ["MASTER_PORT"] = str(command["port"])  # a new group finds no old traces
        codes.append(run(command["arguments"], command.get("act")))
    file.with_name(f"{file.stem}-rank{os.environ['RANK']}.json").write_text(json.dumps(codes))
