"""A short training run in memory, without a folder: what the demo and the study repeat often."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from softaug.data.images import Images
from softaug.draws import DrawKey
from softaug.losses import SoftLoss
from softaug.recipes.recipe import Compute, Optim
from softaug.training.learner import Learner
from softaug.training.seeding import epoch_order
from softaug.transforms import CropParams, SoftTransform


@dataclass(frozen=True)
class Arm:
    """What an experiment compares: how images are augmented and how labels are softened."""

    name: str
    transform: SoftTransform[CropParams]
    loss: SoftLoss


@dataclass(frozen=True)
class Plan:
    """How long and how fast to learn."""

    epochs: int
    batch: int = 50
    lr: float = 0.1
    weight_decay: float = 5e-4


def train_arm(
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
    num = len(data.labels)
    steps_per_epoch = math.ceil(num / plan.batch)
    optim = Optim(lr=plan.lr, weight_decay=plan.weight_decay)
    loss = copy.deepcopy(arm.loss)
    loss.reduction = "none"
    as_it_is = Compute(channels_last=False)
    learner = Learner(model, loss, optim, plan.epochs * steps_per_epoch, compute=as_it_is)
    mean = math.nan
    for epoch in range(plan.epochs):
        found = []
        for place, index in enumerate(epoch_order(num, seed, epoch).split(plan.batch)):  # type: ignore[no-untyped-call]
            key = DrawKey(seed, epoch, index)
            images, label = arm.transform(data.images[index], data.labels[index], key=key)
            found.append(learner.step(epoch * steps_per_epoch + place, images, label, len(index)))
        mean = float(torch.cat(found)[:, 0].mean())
        on_epoch(num)
    return mean
