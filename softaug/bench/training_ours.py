"""Our training loop, step by step: what `softaug train` does between two checkpoints."""

import time

import torch

from softaug.recipes.recipe import Recipe
from softaug.training.batches import Batches
from softaug.training.processes import Processes
from softaug.training.run import LOOK
from softaug.training.seeding import mix
from softaug.training.setup import TrainingData, make_learner
from softaug.training.stopwatch import Stopwatch
from softaug.training.window import Window

ALONE = Processes(0, 1, torch.device("cpu"))


class CpuStopwatch(Stopwatch):
    """CPU time in place of wall time: what others do on the machine does not count."""

    def _now(self) -> float:
        return time.process_time()


class OurLoop:
    """The parts that a run is made of, without checkpoints and measuring."""

    def __init__(self, recipe: Recipe, data: TrainingData, team: Processes = ALONE) -> None:
        self.recipe, self.team = recipe, team
        self.clock = CpuStopwatch(team.device)
        self.batches = Batches(recipe, data.train, data.mean, team, self.clock)
        self.learner = make_learner(recipe, data, self.batches, team, self.clock)
        self._window = Window(team)
        self._step = 0

    def step(self) -> None:
        """Draw, augment and learn from the next batch."""
        self.clock.start(self._step)
        batch = self.batches[self._step]
        torch.manual_seed(mix(self.recipe.seed, self._step, self.team.rank))
        found = self.learner.step(self._step, batch.images, batch.label, batch.num_global)
        self._window.add(self._step, batch.sample, found)
        self._step += 1
        if len(self._window) == LOOK:
            self._window.close(stop=False)
