"""Self-supervised networks and losses on two views: SimSiam and Barlow Twins."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import check_whole, describe, eager_on_cpu, refuse
from softaug.softening import all_reduce_sum


def mlp(widths: Sequence[int], last_bias: bool = False) -> list[nn.Module]:
    """Build linear layers from width to width, with BatchNorm and ReLU between them.

    A layer before BatchNorm has no bias: BatchNorm would subtract it again.
    """
    for width in widths:
        check_whole("mlp", "width", width, least=1)
    layers: list[nn.Module] = []
    *inner, (inputs, outputs) = pairwise(widths)
    for before, after in inner:
        layers += [nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU()]
    return [*layers, nn.Linear(inputs, outputs, bias=last_bias)]


class SimSiamOutput(NamedTuple):
    """Predictions and projections of two views; `simsiam_loss(*output)`."""

    p1: Tensor  # [B, hidden], predicts z2
    p2: Tensor  # [B, hidden], predicts z1
    z1: Tensor  # [B, hidden], without a gradient
    z2: Tensor  # [B, hidden], without a gradient


class SimSiam(nn.Module):
    """SimSiam (Chen and He 2021): a backbone, a projector, and a predictor.

    The projector has `num_layers` of width `hidden`, each with BatchNorm, the last of these
    without weights; the predictor of the other view's projection narrows to `bottleneck`. The
    output's projections carry no gradient (stop-gradient): with one, a constant output would win.
    BatchNorm sees the views one after the other.

    >>> from softaug.lab.models import create
    >>> from softaug.lab.models.backbone import feature_extractor
    >>> backbone, feature_size = feature_extractor(create("resnet8", num_classes=10))
    >>> model = SimSiam(backbone, feature_size, hidden=32, bottleneck=8)
    >>> output = model(torch.rand(4, 3, 32, 32), torch.rand(4, 3, 32, 32))
    >>> simsiam_loss(*output).shape
    torch.Size([4])
    """

    def __init__(
        self,
        backbone: nn.Module,
        feature_size: int,
        hidden: int = 2048,
        bottleneck: int = 512,
        num_layers: int = 3,
    ) -> None:
        super().__init__()
        check_whole("SimSiam", "num_layers", num_layers, least=1)
        self.backbone = backbone
        layers = mlp([feature_size, *[hidden] * num_layers])
        self.projector = nn.Sequential(*layers, nn.BatchNorm1d(hidden, affine=False))
        self.predictor = nn.Sequential(*mlp([hidden, bottleneck, hidden], last_bias=True))

    def forward(self, first: Tensor, second: Tensor) -> SimSiamOutput:
        """Compute predictions and projections of two views, [B, C, H, W] each."""
        z1: Tensor = self.projector(self.backbone(first))
        z2: Tensor = self.projector(self.backbone(second))
        return SimSiamOutput(self.predictor(z1), self.predictor(z2), z1.detach(), z2.detach())


def simsiam_loss(p1: Tensor, p2: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
    """Compute the loss of each pair, [B], unweighted: -1 where each view predicts the other.

    The mean of the negative cosines of p1 to z2 and of p2 to z1, all [B, D]; 0 for right
    angles. A z that needs a gradient is refused.

    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> simsiam_loss(x, y, y, x), simsiam_loss(x, x, x, y)
    (tensor([-1.]), tensor([-0.5000]))
    """
    _check_features("simsiam_loss", p1=p1, p2=p2, z1=z1, z2=z2)
    if z1.requires_grad or z2.requires_grad:
        rule = "z1 and z2 must carry no gradient"
        refuse("simsiam_loss", rule, "one that does", "give z.detach(): else the features collapse")
    return -(_cosine_similarity(p1, z2) + _cosine_similarity(p2, z1)) / 2


def feature_std(features: Tensor) -> Tensor:
    """Measure collapse: 0 if the features [B, D] are one constant, about 1 if spread uniformly.

    The standard deviation over the batch of each dimension of the features, which are scaled
    to length 1; the mean over dimensions, times sqrt(D). Features in uniformly random directions
    give 1, the maximum; a batch of one image gives 0.

    >>> feature_std(torch.tensor([[3.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -5.0]]))
    tensor(1.0000)
    >>> feature_std(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(0.)
    """
    _check_features("feature_std", features=features)
    unit = F.normalize(_at_least_float32(features.detach()), dim=1)
    return unit.std(dim=0, correction=0).mean() * math.sqrt(unit.shape[1])


def _cosine_similarity(first: Tensor, second: Tensor) -> Tensor:
    return F.cosine_similarity(_at_least_float32(first), _at_least_float32(second), dim=1)


def _at_least_float32(values: Tensor) -> Tensor:
    """Convert half precision to float32, also in autocast."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _check_features(who: str, **features: Any) -> None:
    """Refuse anything but floating-point tensors [B, D] of one shape."""
    for name, value in features.items():
        floating = isinstance(value, Tensor) and value.is_floating_point()
        if not floating or value.ndim != 2 or value.numel() == 0:
            refuse(who, f"{name} must be a non-empty floating-point tensor [B, D]", describe(value))
        first, shape = next((name, tuple(one.shape)) for name, one in features.items())
        if value.shape != shape:
            refuse(who, f"{name} must have the shape of {first}, {list(shape)}", describe(value))


_EPSILON = 1e-5  # added to a variance, as BatchNorm does


class BarlowTwins(nn.Module):
    """Barlow Twins (Zbontar et al. 2021): a backbone and a projector of three layers of `hidden`.

    `model(first, second)` gives the projections of two views, [B, hidden] each, for
    `barlow_twins_loss`, which scales them itself.
    """

    def __init__(self, backbone: nn.Module, feature_size: int, hidden: int = 2048) -> None:
        super().__init__()
        self.backbone = backbone
        self.projector = nn.Sequential(*mlp([feature_size, hidden, hidden, hidden]))

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Compute projections of two views, [B, C, H, W] each."""
        return self.projector(self.backbone(first)), self.projector(self.backbone(second))


def barlow_twins_loss(
    z1: Tensor, z2: Tensor, weights: Tensor | None = None, redundancy: float = 0.005
) -> Tensor:
    """Compute the loss of a batch, a scalar: 0 where the cross-correlation is the identity.

    The sum over dimensions of (1 - c_ii)^2, and `redundancy` times the sum of c_ij^2 over pairs
    of different ones. `weights` [B] >= 0 enter the correlation, see `cross_correlation`.
    """
    correlation = cross_correlation(z1, z2, weights)
    on_diagonal = correlation.diagonal()
    off_diagonal = correlation.square().sum() - on_diagonal.square().sum()
    return (1 - on_diagonal).square().sum() + redundancy * off_diagonal


def cross_correlation(z1: Tensor, z2: Tensor, weights: Tensor | None = None) -> Tensor:
    """Correlate each dimension of `z1` [B, D] with each of `z2` over the batch: [D, D].

    A pair counts in all means, variances and products by its weight: one of weight 0 might as
    well not be there, one of weight 2 is there twice; only ratios of weights matter. Sums are
    over all processes, which then must call this together; see `all_reduce_sum` on gradients.

    >>> z = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> cross_correlation(z, -z).round(decimals=3)
    tensor([[-1.,  0.],
            [ 0., -1.]])
    """
    _check_features("cross_correlation", z1=z1, z2=z2)
    both = _at_least_float32(torch.cat([z1, z2], dim=1))  # [B, 2 D]
    weights = _check_weights(z1, weights).to(both.dtype)[:, None]  # [B, 1]
    sums = all_reduce_sum(torch.cat([(weights * both).sum(0), weights.sum(0)]))
    total = torch.where(sums[-1] > 0, sums[-1], 1)  # all-zero weights give no correlation, not NaN
    centered = both - sums[:-1] / total
    first, second = centered.chunk(2, dim=1)
    with torch.autocast(z1.device.type, enabled=False):  # else products are in half precision
        products = (weights * first).T @ second
    squares = (weights * centered.square()).sum(0)
    means = all_reduce_sum(torch.cat([squares, products.flatten()])) / total
    std1, std2 = (means[: len(squares)] + _EPSILON).sqrt().chunk(2)
    return means[len(squares) :].view_as(products) / (std1[:, None] * std2)


def _check_weights(z1: Tensor, weights: Any) -> Tensor:
    """Return the weight of each pair, [B]: 1 if there are none."""
    if weights is None:
        return z1.new_ones(len(z1))
    if not isinstance(weights, Tensor) or weights.shape != z1.shape[:1]:
        rule = f"weights must be a tensor [B] with one for each of the {len(z1)} pairs"
        refuse("cross_correlation", rule, describe(weights))
    if eager_on_cpu(weights) and not bool((weights >= 0).all()):  # also where one is NaN
        got = float(weights[~(weights >= 0)][0])
        refuse("cross_correlation", "weights must be >= 0", got)
    return weights
