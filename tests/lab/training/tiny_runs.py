"""Runs of about a second for the tests of training."""

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from softaug.lab.recipes import (
    AnyRecipe,
    BarlowTwinsSpec,
    DataSpec,
    Optim,
    PairSpec,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    find,
)
from softaug.lab.training.command import train
from softaug.lab.training.logging import read_metrics
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.trainer import Trainer

STEPS = 3  # in an epoch: 20, 20 and 10 images


def tiny(**changes: Any) -> Recipe:
    """50 digits in batches of 20, measured on 30 others; a change's name may be dotted by _."""
    recipe = find("digits-resnet8-soft").recipe
    recipe = replace(recipe, data=replace(recipe.data, per_class=5, validation=30))
    return changed(replace(recipe, epochs=2, batch=20), changes)


def tiny_pairs(**changes: Any) -> PretrainRecipe:
    """The same images for SimSiam with SA#1, with heads 16 wide."""
    recipe = PretrainRecipe(
        "pairs",
        "resnet8",
        data=DataSpec("digits", per_class=5, validation=30),
        weight=PairSpec("SA1"),
        method=SimSiamSpec(hidden=16, bottleneck=4, num_layers=2),
        optim=Optim(lr=0.05),
        epochs=2,
        batch=20,
        probe=ProbeSpec(epochs=3, lr=0.5, batch=20),
    )
    return changed(recipe, changes)


BARLOW = BarlowTwinsSpec(hidden=16)


def changed(recipe: AnyRecipe, changes: dict[str, Any]) -> Any:
    """A copy of the recipe with these changes."""
    for name, value in changes.items():
        part, _, field = name.partition("_")
        if field:
            value = replace(getattr(recipe, part), **{field: value})
        recipe = replace(recipe, **{part: value})
    return recipe


def run(recipe: AnyRecipe, out: Path, **options: Any) -> tuple[dict[str, Any], str]:
    """Train; the result and what was said."""
    console = Console(file=io.StringIO())
    result = train(recipe, RunOptions(out=out, **options), console)
    return result, console.file.getvalue()  # type: ignore[attr-defined]


def weights(folder: Path) -> dict[str, str]:
    """sha256 of each file of tensors in the last checkpoint."""
    last = max((folder / "checkpoints").glob("step-*"))
    files = sorted(last.glob("*.safetensors"))
    assert len(files) > 1
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def rows(folder: Path) -> list[dict[str, Any]]:
    """The metrics without what the clock says."""
    return [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in read_metrics(folder)
    ]


OF_THE_MACHINE = ("seconds", "images_per_second", "environment", "run_id", "sha256")


def final_state(folder: Path) -> dict[str, Any]:
    """What a finished run leaves that a run of the same recipe leaves too, to the bit."""
    result = json.loads((folder / "result.json").read_text())
    picked = {name: value for name, value in result.items() if name not in OF_THE_MACHINE}
    return {"weights": weights(folder), "rows": rows(folder), "result": picked}


def before_step(monkeypatch: Any, number: int, action: Any) -> None:
    """Have `action()` called before the step of that number."""
    step = Trainer.train_step

    def spied(self: Trainer, batch: Any) -> None:
        if self.step == number:
            action()
        step(self, batch)

    monkeypatch.setattr(Trainer, "train_step", spied)
