"""Any optimizer of `torch.optim` by its name, its learning rate in each step, and its state."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from softaug.checks import check_choice, refuse
from softaug.lab.recipes.config import Optim


def learning_rates(optim: Optim, epochs: int, steps_per_epoch: int) -> list[float]:
    """List the learning rate of every step: a linear warm-up, then the schedule.

    >>> [round(lr, 3) for lr in learning_rates(Optim(lr=1.0), epochs=2, steps_per_epoch=2)]
    [1.0, 0.854, 0.5, 0.146]
    >>> learning_rates(Optim(lr=10.0, schedule="step"), epochs=5, steps_per_epoch=1)
    [10.0, 10.0, 10.0, 1.0, 0.1]
    """
    warmup = round(optim.warmup_epochs * steps_per_epoch)
    rising = [optim.lr * (step + 1) / (warmup + 1) for step in range(warmup)]
    steps = range(warmup, epochs * steps_per_epoch)
    if optim.schedule == "constant":
        return rising + [optim.lr] * len(steps)
    if optim.schedule == "step":
        drops = [round(share * epochs) for share in optim.drops]
        passed = [sum(step // steps_per_epoch >= drop for drop in drops) for step in steps]
        return rising + [optim.lr / float(10**num) for num in passed]
    shares = [(step - warmup) / len(steps) for step in steps]
    return rising + [optim.lr * (1 + math.cos(math.pi * share)) / 2 for share in shares]


def build_optimizer(
    optim: Optim,
    net: nn.Module,
    has_fixed_lr: Callable[[str], bool],
    fused: bool = True,
    lr_scale: Callable[[str], float] = lambda name: 1.0,
) -> Optimizer:
    """Build the optimizer called `optim.name`, with those of its settings that the recipe has.

    Parameters with a fixed learning rate keep the first one to the end; they are in a group of
    their own, whose "fixed_lr" is True. The learning rate of a group is multiplied by its
    "lr_scale". Parameters that need no gradient are left out.
    """
    kinds = {
        name: kind
        for name, kind in vars(torch.optim).items()
        if isinstance(kind, type) and issubclass(kind, Optimizer) and kind is not Optimizer
    }
    check_choice("optim", "name", optim.name, sorted(kinds))
    taken = inspect.signature(kinds[optim.name]).parameters
    settings: dict[str, Any] = {
        "momentum": optim.momentum,
        "nesterov": optim.nesterov and optim.momentum > 0,
        "betas": optim.betas,
        "weight_decay": optim.weight_decay,
        "fused": fused,  # one pass over the weights: a third of the time on a CPU
    }
    if optim.betas is not None and "betas" not in taken:
        refuse("optim", f"{optim.name} has no betas", optim.betas, "leave them out")
    arguments = {n: v for n, v in settings.items() if n in taken and v is not None}
    try:
        return kinds[optim.name](
            _param_groups(net, has_fixed_lr, lr_scale), lr=optim.lr, **arguments
        )  # type: ignore[call-arg]
    except (ValueError, TypeError) as refused:
        remedy = "choose another optimizer, such as SGD or AdamW"
        refuse("optim", f"{optim.name} must be able to train this network", refused, remedy)


def _param_groups(
    net: nn.Module, has_fixed_lr: Callable[[str], bool], lr_scale: Callable[[str], float]
) -> list[dict[str, Any]]:
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for name, part in net.named_parameters():
        if part.requires_grad:
            groups.setdefault((has_fixed_lr(name), lr_scale(name)), []).append(part)
    return [
        {"params": groups[fixed, scale], "fixed_lr": fixed, "lr_scale": scale}
        for fixed, scale in sorted(groups)
    ]


def load_optimizer_state(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    """Load a state dict that was saved as tensors and JSON, whose keys are all text."""
    numbered = {int(number): values for number, values in state.get("state", {}).items()}
    optimizer.load_state_dict({"state": numbered, "param_groups": state["param_groups"]})
    for param, values in optimizer.state.items():
        for name, value in values.items():
            # A fused kernel reads weights and state side by side: they must lie alike in memory.
            if isinstance(value, Tensor) and value.shape == param.shape:
                values[name] = torch.empty_like(param, dtype=value.dtype).copy_(value)


def build_ema(net: nn.Module, decay: float | None, device: torch.device) -> AveragedModel | None:
    """Build the moving average of weights and buffers, if there is a decay."""
    if decay is None:
        return None
    average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return AveragedModel(net, device, multi_avg_fn=average, use_buffers=True)
