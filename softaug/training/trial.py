"""One training run on digits and what came out of it: the unit that workers share out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from softaug.data.digits import NUM_CLASSES, digits
from softaug.models import Standardise, resnet8
from softaug.training.arms import Arm, Plan, train_arm
from softaug.training.evaluate import evaluate


@dataclass(frozen=True)
class Trial:
    """One arm trained once, then measured on `split` ("validation" or "test")."""

    arm: Arm
    seed: int
    plan: Plan
    num_train: int
    width: int
    split: str
    occlusion_draws: int
    occlusion_fill: int  # grey level of the patch

    @property
    def num_images(self) -> int:
        """Images seen in training: what a trial costs."""
        return self.num_train * self.plan.epochs


def run_trial(
    trial: Trial, on_epoch: Callable[[int], None] = lambda num_images: None
) -> dict[str, Any]:
    """Train and evaluate at the last epoch; the same bits every time on one machine."""
    start = time.perf_counter()
    splits = digits(trial.num_train)
    model = build_model(splits.train.images, trial.width, trial.seed)
    loss = train_arm(model, splits.train, trial.arm, trial.plan, trial.seed, on_epoch)
    measured = evaluate(
        model, getattr(splits, trial.split), trial.occlusion_draws, trial.occlusion_fill
    )
    seconds = time.perf_counter() - start
    return {"seed": trial.seed, **measured, "train_loss": loss, "seconds": round(seconds, 3)}


def build_model(images: Tensor, width: int, seed: int) -> nn.Module:
    """A fresh ResNet-8 that takes uint8 images like `images`; weights depend on `seed` alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = resnet8(NUM_CLASSES, channels=images.shape[1], width=width)
    # 1.5 x the speed of the default layout here. (With fewer than 8 channels, torch 2.15's
    # strided 1 x 1 convolution writes out of bounds in this layout.)
    layout = torch.channels_last if width >= 8 else torch.contiguous_format
    return nn.Sequential(Standardise.of(images), net.to(memory_format=layout))
