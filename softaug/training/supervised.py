"""Training with labels."""

from typing import Any

from rich.console import Console
from torch import Tensor

from softaug.checks import refuse
from softaug.recipes.recipe import Recipe
from softaug.training.batches import Batch, Batches, on_device
from softaug.training.job import Job
from softaug.training.learner import Learner
from softaug.training.measure import measure
from softaug.training.options import RunOptions
from softaug.training.processes import Processes
from softaug.training.run import run_job
from softaug.training.setup import files_sha256, make_learner


def train(recipe: Recipe, options: RunOptions, console: Console) -> dict[str, Any]:
    """Train `recipe`, from the folder's last checkpoint if it has one; what came out.

    A finished run is only read. Under torchrun every process calls this.
    """
    if recipe.members > 1:
        remedy = "train each of softaug.training.members.members(recipe)"
        refuse("train", "a run has one network", f"{recipe.members} members", remedy)
    return run_job(recipe, options, console, Supervised)


class Supervised(Job[Learner]):
    """Images with labels, augmented."""

    recipe: Recipe
    other = "error"

    def __init__(self, recipe: Recipe, options: RunOptions, team: Processes) -> None:
        super().__init__(recipe, options, team)
        source = self.data.train if self.workers else on_device(self.data.train, team.device)
        self.batches = Batches(recipe, source, self.data.mean, team, self.clock)
        self.learner = make_learner(recipe, self.data, self.batches, team, self.clock)
        self.files = files_sha256(recipe)  # which are there: they have been read

    def learn(self, step: int, batch: Batch) -> Tensor:
        images = batch.images.to(self.team.device, non_blocking=True)
        label = batch.label.to(self.team.device, non_blocking=True)
        return self.learner.step(step, images, label, batch.num_global)

    def measure(self) -> dict[str, Any]:
        return measure(self.learner, self.data.measured, self.workers)

    def describe(self, other: float) -> str:
        return f"error {other:.1%}"

    def warnings(self) -> list[str]:
        epochs = self.recipe.epochs
        return [
            f"the schedule of {setting} has no epoch: {share:g} of {epochs}"
            for setting, _, share in self.recipe.augment.schedules
            if round(share * epochs) == 0
        ]
