"""Training without labels: two views of an image belong together."""

from typing import Any

from rich.console import Console
from torch import Tensor

from softaug.data.images import Source
from softaug.metrics import knn_accuracy
from softaug.recipes.pretrain import PretrainRecipe
from softaug.training.batches import on_device
from softaug.training.job import Job
from softaug.training.measure import predict
from softaug.training.options import RunOptions
from softaug.training.pair_learner import PairLearner, build_pair_net
from softaug.training.pairs import PairBatch, PairBatches
from softaug.training.processes import Processes
from softaug.training.run import run_job
from softaug.transforms import Views

NEIGHBOURS = 200
# Projections spread evenly about their mean by s have a mean cosine of 1 - s^2 from image to
# image: 0.64 here. BatchNorm keeps projections from being equal: on 1,000 images of CIFAR-10,
# SimSiam without its stop-gradient or its predictor came down to 0.2 to 0.5 (one run each), not
# to 0; on a few hundred digits, in 10 to 20 epochs, to 0.5 to 0.95 only, so some are missed.
# Unharmed networks, most of them hardly trained, had 0.73 or more.
COLLAPSED = 0.6


def pretrain(recipe: PretrainRecipe, options: RunOptions, console: Console) -> dict[str, Any]:
    """Train `recipe`, from the folder's last checkpoint if it has one; what came out.

    A finished run is only read. Under torchrun every process calls this.
    """
    return run_job(recipe, options, console, Pretrain)


class Pretrain(Job[PairLearner]):
    """Pairs of views of images whose labels only measure what was learned."""

    recipe: PretrainRecipe
    other = "feature_std"

    def __init__(self, recipe: PretrainRecipe, options: RunOptions, team: Processes) -> None:
        super().__init__(recipe, options, team)
        source = self.data.train if self.workers else on_device(self.data.train, team.device)
        self.batches = PairBatches(recipe, source, team, self.clock)
        steps = self.batches.steps_per_epoch
        self.learner = PairLearner(
            recipe,
            build_pair_net(recipe, self.data),
            num_steps=len(self.batches),
            warmup_steps=round(recipe.optim.warmup_epochs * steps),
            team=team,
            clock=self.clock,
        )
        self.files: dict[str, str] = {}

    def learn(self, step: int, batch: PairBatch) -> Tensor:
        device = self.team.device
        views = Views(*(part.to(device, non_blocking=True) for part in batch.views))
        return self.learner.step(step, views, batch.num_global)

    def measure(self) -> dict[str, Any]:
        """Error of the nearest neighbours among the training images, none of them augmented."""
        train, measured = self.data.train, self.data.measured
        accuracy = knn_accuracy(
            self._features(train),
            train.labels,
            self._features(measured),
            measured.labels,
            k=min(NEIGHBOURS, len(train.labels)),
        )
        return {"knn_error": 1 - float(accuracy)}

    def _features(self, source: Source) -> Tensor:
        return predict(self.learner, self.learner.backbone, source, self.workers).float()

    def describe(self, other: float) -> str:
        return f"feature std {other:.2f}"

    def note_epoch(self, other: float) -> str:
        if other >= COLLAPSED:
            return ""
        return (
            f"the network collapses, images look more and more alike to it: feature std "
            f"{other:.3f}, below {COLLAPSED:g}; begin a new run with a smaller optim.lr"
        )
