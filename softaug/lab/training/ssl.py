"""Training without labels: two views of an image belong together."""

from collections import OrderedDict
from typing import Any, NamedTuple

import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.draws import DrawKey, send
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Source
from softaug.lab.models import (
    BarlowTwins,
    Normalize,
    SimSiam,
    barlow_twins_loss,
    create,
    feature_extractor,
    feature_std,
    simsiam_loss,
)
from softaug.lab.recipes.config import PretrainRecipe, SimSiamSpec, ViewsSpec
from softaug.lab.training.batches import Steps, derive_seed, on_device
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.evaluate import predict
from softaug.lab.training.logging import Stopwatch
from softaug.lab.training.optim import DTYPES, Descent
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.setup import TrainingData
from softaug.lab.training.trainer import Job, run_job
from softaug.metrics import knn_accuracy
from softaug.pair_weights import pair_weight
from softaug.transforms import TwoViews, Views
from softaug.transforms.two_views import make_view_key

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
        team: DistContext | None = None,
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
        # One loss of all pairs, the same in every process: see `all_reduce_sum` on its gradient.
        self.descend(loss[None], self.team.world_size)
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
        torch.default_generator.manual_seed(derive_seed(recipe.seed))
        features, size = feature_extractor(create(recipe.model, len(data.class_names)))
        normalize = Normalize(data.mean, data.sd)
        backbone = nn.Sequential(OrderedDict(normalize=normalize, net=features))
        if isinstance(method, SimSiamSpec):
            return SimSiam(backbone, size, method.hidden, method.bottleneck, method.num_layers)
        return BarlowTwins(backbone, size, method.hidden)


class PairBatch(NamedTuple):
    """What one process gets of a step."""

    views: Views  # of uint8 images, with the box of each in its image
    sample: Tensor  # [B] places in the training set
    num_global: int  # pairs of this step in all processes
    unreadable: tuple[str, ...] = ()  # always none: a file that cannot be read is refused


class PairBatches(Steps[PairBatch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's place."""

    recipe: PretrainRecipe

    def __init__(
        self, recipe: PretrainRecipe, source: Source, team: DistContext, clock: Stopwatch
    ) -> None:
        super().__init__(recipe, len(source.labels), team, least=2)  # BatchNorm needs two
        self.source, self.clock = source, clock
        self.views = make_views(recipe.views, edge_of(source))

    def __getitem__(self, step: int) -> PairBatch:
        together = self.index(step)
        sample = together[self.rows(step)]
        index = send(sample, self.source.labels.device)
        key = DrawKey(self.recipe.seed, step // self.steps_per_epoch, index)
        views = self._views(index, key)
        self.clock.lap("augment")
        return PairBatch(views, sample, len(together))

    def _views(self, index: Tensor, key: DrawKey) -> Views:
        if isinstance(self.source, FolderImages):
            return windows_of_files(self.source, self.views, index, key)
        images = self.source.fetch(index)
        self.clock.lap("data")
        views: Views = self.views(images, key=key)
        return views


def windows_of_files(source: FolderImages, views: TwoViews, index: Tensor, key: DrawKey) -> Views:
    """Both views of image files, of which only what the views show is decoded.

    The same views as `views` gives for the whole images, but for a grey level and for JPEGs so
    large that they are decoded smaller.
    """
    cuts = [source.windows(index, views.crop, make_view_key(key, view)) for view in (0, 1)]
    first, second = (views.finish(cut.images, view, key) for view, cut in enumerate(cuts))
    return Views(first, second, *(cut.params.boxes for cut in cuts))


def make_views(spec: ViewsSpec, size: int) -> TwoViews:
    """The views of a recipe, `size` pixels an edge."""
    return TwoViews(
        size,
        spec.scale,
        spec.ratio,
        jitter=spec.jitter,
        jitter_p=spec.jitter_p,
        gray_p=spec.grey_p,
        flip_p=spec.flip_p,
    )


def edge_of(source: Source) -> int:
    """The edge of a source's square images."""
    if isinstance(source, FolderImages):
        return source.size
    return int(source.fetch(source.labels.new_zeros(1)).shape[-1])


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

    def __init__(self, recipe: PretrainRecipe, options: RunOptions, team: DistContext) -> None:
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
