"""The demo: hard and soft crops side by side on real digits, in about two minutes.

    softaug demo

What to expect, and how the settings were chosen: docs/method.md.
"""

import dataclasses
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from softaug.checks import check_choice, check_positive, check_whole, refuse
from softaug.data.digits import NUM_CLASSES, digits
from softaug.data.images import Images
from softaug.draws import DrawKey
from softaug.files import write_json
from softaug.losses import SOFTEN, SoftLoss
from softaug.softening import confidence, retained
from softaug.training.arms import Arm, Plan
from softaug.training.environment import environment, num_cores
from softaug.training.trial import Trial, build_model
from softaug.training.workers import run_trials
from softaug.transforms import SoftCrop, UniformCrop

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
    return round(float(digits(settings.num_train).train.images.double().mean()))


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
    data = digits(settings.num_train).train
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
    size = digits(settings.num_train).train.images.shape[1:]
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
    splits = digits(settings.num_train)
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
