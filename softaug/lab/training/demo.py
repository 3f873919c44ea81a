"""The demo: hard and soft crops side by side on real digits, in about two minutes.

    softaug demo

What to expect, and how the settings were chosen: docs/method.md.
"""

import copy
import dataclasses
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import check_choice, check_positive, check_whole, refuse
from softaug.draws import DrawKey
from softaug.lab.data.digits import NUM_CLASSES, split_digits
from softaug.lab.data.images import Images
from softaug.lab.io import write_json
from softaug.lab.models import Standardise, resnet8
from softaug.lab.progress import Show, progress
from softaug.lab.recipes.config import Compute, Optim
from softaug.lab.training.batches import epoch_order
from softaug.lab.training.logging import environment, num_cores
from softaug.lab.training.optim import Learner
from softaug.lab.training.signals import ignore_sigint
from softaug.losses import SOFTEN, SoftLoss
from softaug.metrics import calibration_error, confidence_gap, error, nll, occlude, reliability
from softaug.softening import confidence, retained
from softaug.transforms import CropParams, SoftCrop, SoftTransform, UniformCrop


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


OCCLUSION_PERCENT = (0, 20, 40, 60, 80)


def evaluate(
    model: nn.Module, data: Images, occlusion_draws: int, occlusion_fill: int
) -> dict[str, Any]:
    """Error, NLL, calibration and accuracy under occlusion, as plain numbers.

    `gap` is mean confidence minus accuracy: below 0 the model is under-confident.
    """
    logits = predict(model, data.images)
    probs = logits.softmax(1)
    return {
        "error": float(error(logits, data.labels)),
        "nll": float(nll(logits, data.labels)),
        "ece": float(calibration_error(probs, data.labels)),
        "gap": float(confidence_gap(probs, data.labels)),
        "occlusion": {
            str(percent): occluded_accuracy(
                model, data, percent / 100, occlusion_draws, occlusion_fill
            )
            for percent in OCCLUSION_PERCENT
        },
        "reliability": {
            name: [round(value, 6) for value in values.tolist()]
            for name, values in reliability(probs, data.labels)._asdict().items()
        },
    }


def occluded_accuracy(
    model: nn.Module, data: Images, fraction: float, num_draws: int, fill: int
) -> float:
    """Accuracy with a patch over `fraction` of each image, mean of `num_draws` placings.

    The placings are the same for every model.
    """
    right = []
    for draw in range(num_draws if fraction > 0 else 1):
        places = torch.Generator().manual_seed(draw)
        hidden = occlude(data.images, fraction, generator=places, fill=fill)
        right.append(1 - float(error(predict(model, hidden), data.labels)))
    return sum(right) / len(right)


@torch.no_grad()
def predict(model: nn.Module, images: Tensor, batch: int = 500) -> Tensor:
    """Logits [N, C] of `images`, the model in evaluation mode."""
    model.eval()
    parts = images.split(batch)  # type: ignore[no-untyped-call]
    return torch.cat([model(part) for part in parts])


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
    splits = split_digits(trial.num_train)
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


_shared: tuple["Synchronized[int]", Event]  # images seen by all workers; time to stop


class ToldToStopError(Exception):
    """A worker was told to stop."""


def run_trials(trials: Sequence[Trial], processes: int, console: Console) -> list[dict[str, Any]]:
    """The results of `trials`, in their order; their bits do not depend on `processes`.

    Each trial runs in a spawned process of one thread, even with one process. Ctrl-C, an
    error in a trial or the death of this process ends the workers.
    """
    check_whole("run_trials", "processes", processes, least=1)
    context = multiprocessing.get_context("spawn")
    seen, stop = context.Value("q", 0), context.Event()
    workers = min(processes, len(trials))
    pool = ProcessPoolExecutor(workers, context, _start_worker, (seen, stop))
    total = sum(trial.num_images for trial in trials)
    try:
        with progress(console, total, "images") as show:
            with ignore_sigint():
                futures = [pool.submit(_run, trial) for trial in trials]
            _watch(futures, seen, show)
            return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _watch(
    futures: "Sequence[Future[dict[str, Any]]]", seen: "Synchronized[int]", show: Show
) -> None:
    """Show the progress until all are done; raise at once what a trial raises."""
    pending = set(futures)
    while pending:
        show(seen.value, f"{len(futures) - len(pending)} of {len(futures)} runs")
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
    show(seen.value, f"{len(futures)} of {len(futures)} runs")


def _start_worker(seen: "Synchronized[int]", stop: Event) -> None:
    global _shared
    _shared = seen, stop
    torch.set_num_threads(1)  # another number of threads changes the bits
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End with the parent even if it was killed and could not say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run(trial: Trial) -> dict[str, Any]:
    return run_trial(trial, _report)


def _report(num_images: int) -> None:
    seen, stop = _shared
    if stop.is_set():
        raise ToldToStopError
    with seen.get_lock():
        seen.value += num_images


SCHEMA = 1
NUM_OFFSETS = 400
NUM_SAMPLES = 10
SAMPLE_SIGMA = 0.3  # the paper's, for the pictures: it draws crops of every visibility


@dataclass(frozen=True)
class DemoSettings:
    """Everything the demo's numbers depend on, except the code."""

    seeds: tuple[int, ...] = (0, 1, 2, 3)
    """each arm is trained once with each seed"""
    epochs: int = 200
    """passes over the training images"""
    batch: int = 50
    """images in a step"""
    lr: float = 0.1
    """learning rate at the start; it falls to 0 by a cosine"""
    weight_decay: float = 5e-4
    """pull of the weights toward 0"""
    sigma: float = 0.3
    """sd of the offsets of the aggressive and the soft crop, in image edges (the paper's)"""
    k: float = 2.0
    """softening curve: larger keeps labels hard until most of the image is gone"""
    soften: str = "both"
    """what the soft crop softens: target, weight or both"""
    reach: int = 1
    """largest offset of the mild crop, in pixels of 16: the best of 0..4 on validation"""
    width: int = 8
    """channels of the network's first stage"""
    num_train: int = 200
    """training images, at most 600"""
    occlusion_draws: int = 3
    """placings of the occluding patch, averaged"""
    processes: int = field(default_factory=num_cores)
    """trials at a time, a thread each; does not change the numbers"""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "width", "occlusion_draws", "processes"):
            check_whole("demo", name, getattr(self, name), least=1)
        for name in ("lr", "sigma", "k"):
            check_positive("demo", name, getattr(self, name))
        check_choice("demo", "soften", self.soften, SOFTEN)
        if not self.weight_decay >= 0:
            refuse("demo", "weight_decay must be >= 0", self.weight_decay)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            refuse("demo", "seeds must be at least one and all different", list(self.seeds))

    def command(self) -> str:
        """The command line that runs these settings: what differs from the defaults.

        >>> DemoSettings(epochs=3, seeds=(1, 2)).command()
        'softaug demo --seeds 1 2 --epochs 3'
        """
        words = ["softaug demo"]
        for name, value in vars(self).items():
            if value != getattr(DemoSettings(), name):
                shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
                words.append(f"--{name.replace('_', '-')} {shown}")
        return " ".join(words)


def arms(settings: DemoSettings) -> list[Arm]:
    """The arms compared: the last two see the very same crops."""
    mild = UniformCrop(settings.reach, k=settings.k)
    aggressive = SoftCrop(settings.sigma, k=settings.k)
    return [
        Arm("hard mild crop", mild, SoftLoss(soften="none")),
        Arm("hard aggressive crop", aggressive, SoftLoss(soften="none")),
        Arm("soft crop", aggressive, SoftLoss(soften=settings.soften)),
    ]


def trials(settings: DemoSettings) -> list[Trial]:
    """Every arm with every seed, arms in turn."""
    plan = Plan(settings.epochs, settings.batch, settings.lr, weight_decay=settings.weight_decay)
    return [
        Trial(
            arm,
            seed,
            plan,
            num_train=settings.num_train,
            width=settings.width,
            split="test",
            occlusion_draws=settings.occlusion_draws,
            occlusion_fill=mean_grey(settings),
        )
        for arm in arms(settings)
        for seed in settings.seeds
    ]


def mean_grey(settings: DemoSettings) -> int:
    """The training images' mean, which the network sees as 0: the occluding patch."""
    return round(float(split_digits(settings.num_train).train.images.double().mean()))


def run_demo(settings: DemoSettings, out: Path, console: Console) -> Path:
    """Train and measure all arms; write `out/results.json` and return its path."""
    out.mkdir(parents=True, exist_ok=True)  # if it cannot be written to, nothing is lost yet
    start = time.perf_counter()
    runs = run_trials(trials(settings), settings.processes, console)
    results = {
        "schema": SCHEMA,
        "settings": _describe_settings(settings),
        "environment": {**environment(), "seconds": round(time.perf_counter() - start, 1)},
        "arms": [
            _describe_arm(arm, settings, runs[place * len(settings.seeds) :])
            for place, arm in enumerate(arms(settings))
        ],
        "curves": softening_curves(),
        "samples": sample_crops(settings),
    }
    return write_json(results, out / "results.json")


def softening_curves() -> dict[str, Any]:
    """The target's confidence as the image goes from hidden to whole, for k = 1..4."""
    visible = torch.linspace(0, 1, 101, dtype=torch.float64)
    curves = {str(k): confidence(retained(visible, k), NUM_CLASSES) for k in (1, 2, 3, 4)}
    return {
        "visible": visible.tolist(),
        "confidence": {k: curve.tolist() for k, curve in curves.items()},
    }


def sample_crops(settings: DemoSettings) -> list[dict[str, Any]]:
    """One crop of each digit, from a whole image to a tenth of one."""
    data = split_digits(settings.num_train).train
    crop = SoftCrop(SAMPLE_SIGMA, k=settings.k)
    wanted = torch.linspace(1, 0.1, NUM_SAMPLES)
    return [
        _sample(crop, data, int((data.labels == digit).nonzero()[0]), float(visible))
        for digit, visible in enumerate(wanted)
    ]


def _sample(crop: SoftCrop, data: Images, place: int, wanted: float) -> dict[str, Any]:
    """The draw for one image that leaves closest to `wanted` of it."""
    many = data.images[place].expand(NUM_OFFSETS, -1, -1, -1)
    drawn = crop.draw(many, key=DrawKey(0, 0, torch.arange(NUM_OFFSETS)))
    nearest = int((drawn.visible - wanted).abs().argmin())
    params = type(drawn)(*(values[nearest : nearest + 1] for values in drawn))
    label = crop.report(data.labels[place : place + 1], params)
    return {
        "label": int(data.labels[place]),
        "original": data.images[place, 0].tolist(),
        "image": crop.apply(data.images[place], params)[0].tolist(),
        "dx": int(params.dx),
        "dy": int(params.dy),
        "visible": float(params.visible),
        "retained": float(torch.as_tensor(label.retained)),
        "confidence": float(label.confidence(NUM_CLASSES)),
        "target": label.dense(NUM_CLASSES)[0].tolist(),
    }


def _describe_arm(arm: Arm, settings: DemoSettings, runs: list[dict[str, Any]]) -> dict[str, Any]:
    size = split_digits(settings.num_train).train.images.shape[1:]
    key = DrawKey(settings.seeds[0], 0, torch.arange(NUM_OFFSETS))
    drawn = arm.transform.draw(torch.empty(NUM_OFFSETS, *size), key=key)
    return {
        "name": arm.name,
        "transform": repr(arm.transform),
        "loss": repr(arm.loss),
        "offsets": torch.stack([drawn.dx, drawn.dy], 1).tolist(),
        "runs": runs[: len(settings.seeds)],
    }


def _describe_settings(settings: DemoSettings) -> dict[str, Any]:
    splits = split_digits(settings.num_train)
    model = build_model(splits.train.images, settings.width, seed=0)
    return {
        "command": settings.command(),
        **dataclasses.asdict(settings),
        "occlusion_fill": mean_grey(settings),
        "image_size": splits.train.images.shape[-1],
        "num_validation": len(splits.validation.labels),
        "num_test": len(splits.test.labels),
        "num_classes": NUM_CLASSES,
        "model": f"resnet8(width={settings.width})",
        "num_parameters": sum(part.numel() for part in model.parameters()),
        "sample_transform": repr(SoftCrop(SAMPLE_SIGMA, k=settings.k)),
    }
