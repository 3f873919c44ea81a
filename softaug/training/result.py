"""What a finished run leaves: numbers, and all one needs to repeat them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from softaug.recipes.serialise import as_dict
from softaug.training import checkpoint
from softaug.training.descent import count_parameters
from softaug.training.environment import environment
from softaug.training.run_folder import CHECKPOINTS

if TYPE_CHECKING:
    from softaug.training.run import Run

SCHEMA = 1


def describe_result(run: Run, measured: dict[str, Any]) -> dict[str, Any]:
    """Everything about a run that has done its last step."""
    shares = {name: round(share, 5) for name, share in run.clock.shares().items()}
    num_images = run.recipe.epochs * run.batches.num
    last = checkpoint.steps(run.folder / CHECKPOINTS)[-1]
    return {
        "schema": SCHEMA,
        "recipe": as_dict(run.recipe),
        "seed": run.recipe.seed,
        "split": run.data.split,
        **measured,
        "train_loss": run.last_epoch.mean_loss,
        f"train_{run.job.other}": run.last_epoch.mean_other,
        "files_sha256": run.job.files,
        "skipped": run.skipped.files,
        "num_train": run.batches.num,
        "num_measured": len(run.data.measured.labels),
        "num_classes": len(run.data.class_names),
        "num_parameters": count_parameters(run.learner.net),
        "weights": str(last.relative_to(run.folder) / ("ema" if run.learner.ema else "model"))
        + ".safetensors",
        "seconds": round(run.seconds, 1),
        "images_per_second": round(num_images / run.seconds, 1),
        "time_shares": shares,
        "augmentation_share": None if run.job.workers else shares["augment"],  # theirs is not seen
        "processes": run.team.count,
        "threads": torch.get_num_threads(),
        "device": device_name(run.team.device),
        "environment": environment(),
    }


def device_name(device: torch.device) -> str:
    """The device as its maker calls it.

    >>> device_name(torch.device("cpu"))
    'cpu'
    """
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
