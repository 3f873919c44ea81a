"""One process, or several under torchrun, on one machine or many; and signals to stop them."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from softaug.checks import refuse
from softaug.lab.training.setup import choose_device

T = TypeVar("T")


@dataclass(frozen=True)
class DistContext:
    """Rank, number and device of this process; with a single one each method is trivial."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_rank_zero(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def all_reduce(self, values: Tensor) -> Tensor:
        """Sum over all processes, on the device of `values`."""
        if self.world_size == 1:
            return values
        shared = values.to(self.device)  # NCCL knows only its own devices
        dist.all_reduce(shared)
        return shared.to(values.device)

    def broadcast(self, values: Tensor) -> None:
        """Overwrite `values` by those of rank zero."""
        if self.world_size == 1:
            return
        shared = values.to(self.device)
        dist.broadcast(shared, src=0)
        if shared is not values:
            values.copy_(shared)

    def broadcast_object(self, message: Any) -> Any:
        """Return in every process what rank zero passes."""
        messages = [message]
        if self.world_size > 1:
            dist.broadcast_object_list(messages, src=0, device=self.device)
        return messages[0]

    def all_gather_object(self, message: Any) -> list[Any]:
        """Return in every process what each process passes."""
        messages = [message] * self.world_size
        if self.world_size > 1:
            dist.all_gather_object(messages, message)
        return messages

    def run_on_rank_zero(self, action: Callable[[], T]) -> T:
        """Return in every process what `action` returns on rank zero, or raise its refusal."""
        if self.world_size == 1:
            return action()
        outcome: tuple[Any, Exception | None] = (None, None)
        if self.is_rank_zero:
            try:
                outcome = (action(), None)
            except (ValueError, OSError) as refused:
                outcome = (None, refused)
        value, refusal = self.broadcast_object(outcome)
        if refusal is not None:
            refusal.reported = self.rank > 0
            raise refusal
        return value  # type: ignore[no-any-return]

    @contextmanager
    def enter_on_rank_zero(self, manager: AbstractContextManager[None]) -> Iterator[None]:
        """Enter a context on rank zero alone; its refusal is raised in every process."""
        with ExitStack() as stack:
            self.run_on_rank_zero(lambda: stack.enter_context(manager))
            yield


SINGLE = DistContext(0, 1, torch.device("cpu"))


@contextmanager
def init_distributed(device: str = "auto") -> Iterator[DistContext]:
    """Join the other processes of torchrun, if there are any; `device` is "auto" or torch's name.

    NCCL joins CUDA devices, gloo joins CPUs. `torchrun` gives rank and number by environment
    variables. A refusal that only a later process has is printed with its rank.
    """
    alone = "RANK" not in os.environ
    chosen = choose_device(device) if alone else _choose_local_device(device)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if alone:
        yield DistContext(0, 1, chosen)
        return
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    context = DistContext(dist.get_rank(), dist.get_world_size(), chosen)
    try:
        yield context
    except (ValueError, OSError) as refused:
        if not context.is_rank_zero and not getattr(refused, "reported", False):
            print(f"process {context.rank}: {refused}", file=sys.stderr)
        raise
    finally:
        dist.destroy_process_group()


def _choose_local_device(name: str) -> torch.device:
    """Return the device of this process among several of a machine: the CPU, or a GPU each."""
    if name not in ("auto", "cpu", "cuda"):
        refuse("train", "device under torchrun must be auto, cpu or cuda", name)
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    local_rank, num = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if local_rank >= num:
        remedy = f"start at most {num} processes on this machine, or use --device cpu"
        refuse("train", "each process must have a GPU of its own", f"{num} GPUs", remedy)
    return torch.device("cuda", local_rank)


SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C; what clusters and torchrun send


class Interruption:
    """Whether the user or the machine wants this process to stop."""

    requested = False


@contextmanager
def catch_signals() -> Iterator[Interruption]:
    """Note signals to stop; a second Ctrl-C acts at once.

    (Not under torchrun, which repeats to its processes the Ctrl-C that they had already.)
    """
    interruption = Interruption()

    def note(number: int, frame: FrameType | None) -> None:
        if interruption.requested and number == signal.SIGINT and "RANK" not in os.environ:
            raise KeyboardInterrupt
        interruption.requested = True

    with handle_signals(SIGNALS, note):
        yield interruption


@contextmanager
def ignore_sigint() -> Iterator[None]:
    """Have processes started inside ignore Ctrl-C: their parent gets it, and stops them."""
    with handle_signals((signal.SIGINT,), signal.SIG_IGN):
        yield


@contextmanager
def handle_signals(numbers: Iterable[signal.Signals], handler: Any) -> Iterator[None]:
    """Have `handler` take these signals inside; only the main thread may do so."""
    if threading.current_thread() is not threading.main_thread():
        numbers = ()
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
