"""Training without labels: two views of an image belong together."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from softaug.draws import DrawKey, send
from softaug.lab.data.folder import FolderImages
from softaug.lab.data.images import Source
from softaug.lab.models.backbone import feature_extractor
from softaug.lab.models.registry import create
from softaug.lab.models.ssl import (
    BarlowTwins,
    SimSiam,
    barlow_twins_loss,
    feature_std,
    simsiam_loss,
)
from softaug.lab.recipes.config import PretrainRecipe, SimSiamSpec
from softaug.lab.training.batches import Steps, on_device
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.evaluate import predict_all
from softaug.lab.training.logging import Losses
from softaug.lab.training.setup import TrainingData, derive_seed, normalized
from softaug.lab.training.trainer import Task
from softaug.metrics import knn_accuracy
from softaug.pair_weights import pair_weight
from softaug.transforms import TwoViews, Views
from softaug.transforms.two_views import make_view_key

PairNet = SimSiam | BarlowTwins
NUM_NEIGHBORS = 200
# Projections spread evenly about their mean by s have a mean cosine of 1 - s^2 from image to
# image: 0.64 here. BatchNorm keeps projections from being equal: on 1,000 images of CIFAR-10,
# SimSiam without its stop-gradient or its predictor came down to 0.2 to 0.5 (one run each), not
# to 0; on a few hundred digits, in 10 to 20 epochs, to 0.5 to 0.95 only, so some are missed.
# Sound networks, most of them hardly trained, had 0.73 or more.
COLLAPSED = 0.6


class SelfSupervised(Task["PairBatch"]):
    """Learn that two views of an image belong together; labels only measure what was learned."""

    net: PairNet
    train_metric = "feature_std"

    def __init__(
        self,
        recipe: PretrainRecipe,
        data: TrainingData,
        context: DistContext = SINGLE,
        workers: int = 0,
    ) -> None:
        self.recipe, self.data, self.context, self.workers = recipe, data, context, workers
        source = data.train if workers else on_device(data.train, context.device)
        self.batches = PairBatches(recipe, source, context)
        self.net = build_pair_net(recipe, data)

    def loss(self, batch: "PairBatch") -> Losses:
        device, method = self.context.device, self.recipe.method
        views = Views(*(part.to(device, non_blocking=True) for part in batch.views))
        output = self.model(views.first, views.second)
        if isinstance(method, SimSiamSpec):
            losses, num = self.weight(simsiam_loss(*output), views), batch.num_global
            projections = output[2], output[3]
        else:
            projections, weights = output, self._pair_weights(views)
            loss = barlow_twins_loss(output[0], output[1], weights, method.redundancy)
            # One loss of all pairs, in every process: see `all_reduce_sum` on its gradient.
            losses, num = loss[None], self.context.world_size
        spread = torch.stack([feature_std(part) for part in projections]).mean()
        return Losses(losses, spread.float().expand(len(views.first)), num)

    def weight(self, losses: Tensor, views: Views) -> Tensor:
        """Multiply the loss of each pair by its weight, [B]."""
        return losses * self._pair_weights(views)

    def _pair_weights(self, views: Views) -> Tensor:
        spec, boxes = self.recipe.weight, (views.boxes_first, views.boxes_second)
        return pair_weight(*boxes, k=spec.k, mode=spec.mode, p_min=spec.p_min)

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Measure the error of the nearest neighbors among the training images, unaugmented."""
        backbone, precision = net.get_submodule("backbone"), self.recipe.compute.precision
        train, measured = self.data.train, self.data.measured
        train_features, features = (
            predict_all(backbone, source, precision, self.context, self.workers)
            for source in (train, measured)
        )
        k = min(NUM_NEIGHBORS, len(train.labels))
        accuracy = knn_accuracy(train_features, train.labels, features, measured.labels, k=k)
        return {"knn_error": 1 - float(accuracy)}

    def has_fixed_lr(self, name: str) -> bool:
        method = self.recipe.method
        fixed = isinstance(method, SimSiamSpec) and method.fixed_predictor_lr
        return fixed and name.startswith("predictor.")

    def describe(self, metric: float) -> str:
        return f"feature std {metric:.2f}"

    def warn(self, metric: float) -> str:
        if metric >= COLLAPSED:
            return ""
        return (
            f"the network collapses, images look more and more alike to it: feature std "
            f"{metric:.3f}, below {COLLAPSED:g}; begin a new run with a smaller optim.lr"
        )


def build_pair_net(recipe: PretrainRecipe, data: TrainingData) -> PairNet:
    """Build a fresh network that takes two uint8 views; its weights depend on the seed alone."""
    method = recipe.method
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive_seed(recipe.seed))
        features, size = feature_extractor(create(recipe.model, len(data.class_names)))
        backbone = normalized(features, data)
        if isinstance(method, SimSiamSpec):
            return SimSiam(backbone, size, method.hidden, method.bottleneck, method.num_layers)
        return BarlowTwins(backbone, size, method.hidden)


class PairBatch(NamedTuple):
    """What one process gets of a step."""

    views: Views  # of uint8 images, with the box of each in its image
    sample: Tensor  # [B] indices in the training set
    num_global: int  # pairs of this step in all processes
    unreadable: tuple[str, ...] = ()  # always none: a file that cannot be read is refused


class PairBatches(Steps[PairBatch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's rank."""

    recipe: PretrainRecipe

    def __init__(
        self, recipe: PretrainRecipe, source: Source, context: DistContext = SINGLE
    ) -> None:
        super().__init__(recipe, len(source.labels), context, least=2)  # BatchNorm needs two
        self.source, spec = source, recipe.views
        self.views = TwoViews(
            edge_of(source),
            spec.scale,
            spec.ratio,
            jitter=spec.jitter,
            jitter_p=spec.jitter_p,
            gray_p=spec.grey_p,
            flip_p=spec.flip_p,
        )

    def __getitem__(self, step: int) -> PairBatch:
        together = self.index(step)
        sample = together[self.rows(step)]
        index = send(sample, self.source.labels.device)
        key = DrawKey(self.recipe.seed, step // self.steps_per_epoch, index)
        if isinstance(self.source, FolderImages):
            views = self._decode_views(self.source, index, key)
        else:
            views = self.views(self.source.fetch(index), key=key)
        return PairBatch(views, sample, len(together))

    def _decode_views(self, source: FolderImages, index: Tensor, key: DrawKey) -> Views:
        """Make both views of image files, of which only what the views show is decoded.

        They are those of the whole images, but for a gray level and for JPEGs so large that they
        are decoded smaller.
        """
        crop = self.views.crop
        cuts = [source.windows(index, crop, make_view_key(key, view)) for view in (0, 1)]
        first, second = (self.views.finish(cut.images, view, key) for view, cut in enumerate(cuts))
        return Views(first, second, *(cut.params.boxes for cut in cuts))


def edge_of(source: Source) -> int:
    """Return the edge of a source's square images."""
    if isinstance(source, FolderImages):
        return source.size
    return int(source.fetch(source.labels.new_zeros(1)).shape[-1])
