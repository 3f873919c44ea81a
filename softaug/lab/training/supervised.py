"""Training with labels."""

from typing import Any

from rich.console import Console
from torch import Tensor

from softaug.checks import refuse
from softaug.lab.data.images import Source
from softaug.lab.recipes.config import Recipe
from softaug.lab.training.augmentation import strength_of, told
from softaug.lab.training.batches import Batch, Batches, on_device
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.evaluate import measure, predict
from softaug.lab.training.optim import Learner
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.setup import files_sha256, make_learner
from softaug.lab.training.trainer import Job, run_job
from softaug.pacing import Pacer


def train(recipe: Recipe, options: RunOptions, console: Console) -> dict[str, Any]:
    """Train `recipe`, from the folder's last checkpoint if it has one; what came out.

    A finished run is only read. Under torchrun every process calls this.
    """
    if recipe.members > 1:
        remedy = "train each of softaug.lab.training.command.members(recipe)"
        refuse("train", "a run has one network", f"{recipe.members} members", remedy)
    return run_job(recipe, options, console, Supervised)


class Supervised(Job[Learner]):
    """Images with labels, augmented."""

    recipe: Recipe
    batches: Batches
    other = "error"

    def __init__(self, recipe: Recipe, options: RunOptions, team: DistContext) -> None:
        super().__init__(recipe, options, team)
        source = self.data.train if self.workers else on_device(self.data.train, team.device)
        self.batches = Batches(recipe, source, self.data.mean, team, self.clock)
        self.learner = make_learner(recipe, self.data, self.batches, team, self.clock)
        self.files = files_sha256(recipe)  # which are there: they have been read
        self.pacer = self.learner.pacer
        self._pass_strength()

    def learn(self, step: int, batch: Batch) -> Tensor:
        images = batch.images.to(self.team.device, non_blocking=True)
        label = batch.label.to(self.team.device, non_blocking=True)
        return self.learner.step(step, images, label, batch.num_global, batch.sample)

    def measure(self) -> dict[str, Any]:
        return measure(self.learner, self.data.measured, self.workers)

    def next_epoch(self) -> dict[str, float]:
        super().next_epoch()
        if self.pacer is None:
            return {}
        ended = told(self.pacer)
        if self.data.held_out is not None:
            self._watch_held_out(self.pacer, self.data.held_out)
        self.pacer.next_epoch()
        self._pass_strength()
        assert self.pacer.lead is not None
        return {**ended, "lead": self.pacer.lead}

    def state(self) -> dict[str, Any]:
        if self.pacer is None:
            return {}
        self.pacer.share()
        state = self.pacer.state_dict()
        state.pop("tables", None)  # the learner has them, as tensors
        return {"pacer": state}

    def load_state(self, state: dict[str, Any]) -> None:
        if self.pacer is not None:
            self.pacer.load_state_dict({**state["pacer"], "tables": self.pacer.tables()})
            self._pass_strength()

    def _watch_held_out(self, pacer: Pacer, source: Source) -> None:
        """Every process has all answers, so one is enough to watch them."""
        logits = predict(self.learner, self.learner.net, source, self.workers)
        if self.team.is_rank_zero:
            pacer.watch(logits, source.labels.to(logits.device), held_out=True)

    def _pass_strength(self) -> None:
        """Have batches know what holds in the epoch that begins."""
        if self.pacer is not None:
            self.batches.strength = strength_of(self.pacer, self.data.train.labels)

    def describe(self, other: float) -> str:
        return f"error {other:.1%}"

    def warnings(self) -> list[str]:
        epochs = self.recipe.epochs
        return [
            f"the schedule of {setting} has no epoch: {share:g} of {epochs}"
            for setting, _, share in self.recipe.augment.schedules
            if round(share * epochs) == 0
        ]
