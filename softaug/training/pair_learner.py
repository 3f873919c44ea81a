"""A network and how it learns from pairs of views."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from softaug.models import (
    BarlowTwins,
    SimSiam,
    Standardise,
    barlow_twins_loss,
    create,
    feature_extractor,
    feature_std,
    simsiam_loss,
)
from softaug.pairs import pair_weight
from softaug.recipes.pretrain import PretrainRecipe, SimSiamSpec
from softaug.training.descent import DTYPES, Descent
from softaug.training.processes import Processes
from softaug.training.seeding import mix
from softaug.training.setup import TrainingData
from softaug.training.stopwatch import Stopwatch
from softaug.transforms import Views

PairNet = SimSiam | BarlowTwins


class PairLearner(Descent):
    """Descent on the loss of pairs, each of which counts by the overlap of its views."""

    net: PairNet

    def __init__(
        self,
        recipe: PretrainRecipe,
        net: PairNet,
        num_steps: int,
        warmup_steps: int = 0,
        team: Processes | None = None,
        clock: Stopwatch | None = None,
    ) -> None:
        self.method, self.weight = recipe.method, recipe.weight
        super().__init__(
            net,
            recipe.optim,
            num_steps,
            warmup_steps,
            recipe.compute,
            team,
            clock,
            fixed=self._is_fixed,
        )

    def step(self, step: int, views: Views, num: int) -> Tensor:
        """Learn from this process's share of a batch of `num` pairs.

        Returns, without waiting for the device, each pair's weighted loss and the spread of the
        projections of this share, [B, 2].
        """
        self.begin_step(step)
        projections, losses = self._losses(views, num)
        spread = torch.stack([feature_std(part) for part in projections]).mean()
        found = losses.detach().float().expand(len(views.first))
        return torch.stack([found, spread.float().expand_as(found)], dim=1)

    @property
    def backbone(self) -> nn.Module:
        """What gives the features that are used later, of the averaged network if there is one."""
        found: nn.Module = self.measured.get_submodule("backbone")
        return found

    def _losses(self, views: Views, num: int) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Take the step; the projections, and the loss of each pair or of the batch."""
        output = self._answer(views)
        if isinstance(self.method, SimSiamSpec):
            losses = self.weighted(simsiam_loss(*output), views)
            self.descend(losses, num)
            return (output[2], output[3]), losses
        first, second = output
        loss = barlow_twins_loss(first, second, self._weights(views), self.method.redundancy)
        # One loss of all pairs, the same in every process: see `global_sum` on its gradient.
        self.descend(loss[None], self.team.count)
        return (first, second), loss

    def weighted(self, losses: Tensor, views: Views) -> Tensor:
        """The loss of each pair times its weight, [B]."""
        return losses * self._weights(views)

    def _weights(self, views: Views) -> Tensor:
        spec, boxes = self.weight, (views.boxes_first, views.boxes_second)
        return pair_weight(*boxes, k=spec.k, mode=spec.mode, p_min=spec.p_min)

    def _answer(self, views: Views) -> tuple[Tensor, ...]:
        device, dtype = self.team.device.type, DTYPES[self.compute.precision]
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            output: tuple[Tensor, ...] = self._forward(views.first, views.second)
        return output

    def _is_fixed(self, name: str) -> bool:
        fixed = isinstance(self.method, SimSiamSpec) and self.method.fixed_predictor_lr
        return fixed and name.startswith("predictor.")


def build_pair_net(recipe: PretrainRecipe, data: TrainingData) -> PairNet:
    """A fresh network that takes two uint8 views; its weights depend on the seed alone."""
    method = recipe.method
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(mix(recipe.seed))
        features, size = feature_extractor(create(recipe.model, len(data.class_names)))
        standardise = Standardise(data.mean, data.sd)
        backbone = nn.Sequential(OrderedDict(standardise=standardise, net=features))
        if isinstance(method, SimSiamSpec):
            return SimSiam(backbone, size, method.hidden, method.bottleneck, method.num_layers)
        return BarlowTwins(backbone, size, method.hidden)
