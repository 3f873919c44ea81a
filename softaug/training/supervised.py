"""A supervised training loop for images that fit in memory."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from softaug.data.images import Images
from softaug.draws import DrawKey
from softaug.losses import SoftLoss
from softaug.transforms import CropParams, SoftTransform


@dataclass(frozen=True)
class Arm:
    """What an experiment compares: how images are augmented and how labels are softened."""

    name: str
    transform: SoftTransform[CropParams]
    loss: SoftLoss


@dataclass(frozen=True)
class Plan:
    """SGD with Nesterov momentum, the learning rate falling to 0 by a cosine of the steps."""

    epochs: int
    batch: int = 50
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4


def train(
    model: nn.Module,
    data: Images,
    arm: Arm,
    plan: Plan,
    seed: int,
    on_epoch: Callable[[int], None] = lambda num_images: None,
) -> float:
    """Train `model` in place; the last epoch's mean loss.

    Order and draws depend on `seed` alone, so arms of one seed see images in one order.
    `on_epoch` is called after each epoch with the number of images seen in it.
    """
    num_steps = plan.epochs * math.ceil(len(data.labels) / plan.batch)
    optimiser = torch.optim.SGD(
        model.parameters(), plan.lr, plan.momentum, weight_decay=plan.weight_decay, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, num_steps)
    shuffler = torch.Generator().manual_seed(seed)
    loss = math.nan
    model.train()
    for epoch in range(plan.epochs):
        order = torch.randperm(len(data.labels), generator=shuffler).to(data.labels.device)
        losses = []
        for index in order.split(plan.batch):  # type: ignore[no-untyped-call]
            losses.append(_step(model, data, arm, optimiser, DrawKey(seed, epoch, index)))
            schedule.step()
        loss = float(torch.stack(losses).mean())
        on_epoch(len(order))
    return loss


def _step(
    model: nn.Module, data: Images, arm: Arm, optimiser: torch.optim.Optimizer, key: DrawKey
) -> Tensor:
    images, label = arm.transform(data.images[key.index], data.labels[key.index], key=key)
    loss: Tensor = arm.loss(model(images), label)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss.detach()
