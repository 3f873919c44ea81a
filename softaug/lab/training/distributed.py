"""One process, or several under torchrun, on one machine or many."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from softaug.checks import refuse

T = TypeVar("T")


@dataclass(frozen=True)
class DistContext:
    """Which of all processes this one is; alone, each method is a matter of course."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_rank_zero(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum over all processes, on the device of `values`."""
        if self.world_size == 1:
            return values
        shared = values.to(self.device)  # NCCL knows only its own devices
        dist.all_reduce(shared)
        return shared.to(values.device)

    def broadcast(self, values: Tensor) -> None:
        """Overwrite `values` by those of the first process."""
        if self.world_size == 1:
            return
        shared = values.to(self.device)
        dist.broadcast(shared, src=0)
        if shared is not values:
            values.copy_(shared)

    def broadcast_object(self, message: Any) -> Any:
        """What the first process passes here, in every process."""
        messages = [message]
        if self.world_size > 1:
            dist.broadcast_object_list(messages, src=0, device=self.device)
        return messages[0]

    def run_on_rank_zero(self, action: Callable[[], T]) -> T:
        """What `action` returns in the first process, which alone runs it; or its refusal."""
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
            refusal.told = self.rank > 0
            raise refusal
        return value  # type: ignore[no-any-return]

    @contextmanager
    def enter_on_rank_zero(self, held: AbstractContextManager[None]) -> Iterator[None]:
        """`held`, in the first process alone; its refusal is everybody's."""
        with ExitStack() as stack:
            self.run_on_rank_zero(lambda: stack.enter_context(held))
            yield

    def all_gather_object(self, message: Any) -> list[Any]:
        """What each process passes here, in every process."""
        messages = [message] * self.world_size
        if self.world_size > 1:
            dist.all_gather_object(messages, message)
        return messages


@contextmanager
def init_distributed(device: str = "auto") -> Iterator[DistContext]:
    """Join the other processes of torchrun, if there are any; `device` is "auto" or torch's name.

    NCCL joins CUDA devices, gloo joins CPUs. `torchrun` says rank and number by environment
    variables. A refusal that only a later process has is printed with its number.
    """
    if "RANK" not in os.environ:
        found = choose_device(device)
        if found.type == "cuda":
            torch.cuda.set_device(found)
        yield DistContext(0, 1, found)
        return
    found = choose_shared_device(device)
    dist.init_process_group("nccl" if found.type == "cuda" else "gloo")
    team = DistContext(dist.get_rank(), dist.get_world_size(), found)
    try:
        yield team
    except (ValueError, OSError) as refused:
        if not team.is_rank_zero and not getattr(refused, "told", False):
            print(f"process {team.rank}: {refused}", file=sys.stderr)
        raise
    finally:
        dist.destroy_process_group()


def choose_device(name: str) -> torch.device:
    """The device called `name`; "auto" is a CUDA device where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as missing:
        reason = str(missing).splitlines()[0]
        refuse("train", "device must be one that torch has here", name, f"torch says: {reason}")
    return device


def choose_shared_device(name: str) -> torch.device:
    """The device of this process among several of a machine: the CPU, or a GPU each."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        refuse("train", "device under torchrun must be auto, cpu or cuda", name)
    if name == "cpu":
        return torch.device("cpu")
    place, num = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if place >= num:
        remedy = f"start at most {num} processes on this machine, or use --device cpu"
        refuse("train", "each process must have a GPU of its own", f"{num} GPUs", remedy)
    device = torch.device("cuda", place)
    torch.cuda.set_device(device)
    return device
