"""What a run does in its steps: the part of training that depends on what is learned."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from torch import Tensor

from softaug.recipes.pretrain import AnyRecipe
from softaug.training.descent import Descent
from softaug.training.options import RunOptions
from softaug.training.processes import Processes
from softaug.training.setup import TrainingData, load_data, num_workers
from softaug.training.steps import Steps
from softaug.training.stopwatch import Stopwatch

L = TypeVar("L", bound=Descent)


class Job(ABC, Generic[L]):
    """The images of a recipe, its batches and its learner."""

    batches: Steps[Any]  # each has `sample` and `unreadable`
    learner: L
    files: dict[str, str]  # sha256 of the files that the recipe names
    other: str  # name of what is watched beside the loss

    def __init__(self, recipe: AnyRecipe, options: RunOptions, team: Processes) -> None:
        self.recipe, self.team = recipe, team
        self.data: TrainingData = load_data(recipe, options.data_dir)
        self.workers = num_workers(options, self.data.train)
        self.clock = Stopwatch(team.device)

    @abstractmethod
    def learn(self, step: int, batch: Any) -> Tensor:
        """One step; each sample's loss and what else is watched, [B, 2], without waiting."""

    @abstractmethod
    def measure(self) -> dict[str, Any]:
        """What the network makes of images that it was not trained on."""

    def next_epoch(self) -> dict[str, float]:
        """Change what changes from one epoch to the next; what to keep of the one that ended."""
        self.learner.next_epoch()
        return {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds beside tensors; all processes call it together."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""

    def note_epoch(self, other: float) -> str:
        """A warning about the epoch that ended, by the mean of what was watched; mostly none."""
        return ""

    @abstractmethod
    def describe(self, other: float) -> str:
        """What is watched beside the loss, in words."""

    def warnings(self) -> list[str]:
        """What one should know before it begins."""
        return []
