"""SimSiam (Chen and He 2021): each view predicts the other, without negatives."""

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softaug.checks import describe, refuse
from softaug.models.heads import check_widths, perceptron


class SimSiamOutput(NamedTuple):
    """What a network makes of two views; `simsiam_loss(*output)`."""

    p1: Tensor  # [B, hidden], predicts z2
    p2: Tensor  # [B, hidden], predicts z1
    z1: Tensor  # [B, hidden], without a gradient
    z2: Tensor  # [B, hidden], without a gradient


class SimSiam(nn.Module):
    """A backbone, a projector on it, and a predictor of the other view's projection.

    The projector has `num_layers` of width `hidden`, each with BatchNorm, the last of these
    without weights; the predictor narrows to `bottleneck`. The output's projections carry no
    gradient (stop-gradient): with one, the constant answer would win. BatchNorm sees the views
    one after the other.

    >>> from softaug.models import create, feature_extractor
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
        sizes = {"feature_size": feature_size, "hidden": hidden, "bottleneck": bottleneck}
        check_widths("SimSiam", **sizes, num_layers=num_layers)
        self.backbone = backbone
        layers = perceptron([feature_size, *[hidden] * num_layers])
        self.projector = nn.Sequential(*layers, nn.BatchNorm1d(hidden, affine=False))
        self.predictor = nn.Sequential(*perceptron([hidden, bottleneck, hidden], last_bias=True))

    def forward(self, first: Tensor, second: Tensor) -> SimSiamOutput:
        """Predictions and projections of two views, [B, C, H, W] each."""
        z1: Tensor = self.projector(self.backbone(first))
        z2: Tensor = self.projector(self.backbone(second))
        return SimSiamOutput(self.predictor(z1), self.predictor(z2), z1.detach(), z2.detach())


def simsiam_loss(p1: Tensor, p2: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
    """Loss of each pair, [B], before any weighting: -1 where each view predicts the other.

    The mean of the negative cosines of p1 to z2 and of p2 to z1, all [B, D]; 0 for right
    angles. A z that needs a gradient is refused.

    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> simsiam_loss(x, y, y, x), simsiam_loss(x, x, x, y)
    (tensor([-1.]), tensor([-0.5000]))
    """
    for name, value in {"p1": p1, "p2": p2, "z1": z1, "z2": z2}.items():
        _check_features("simsiam_loss", name, value)
        if value.shape != p1.shape:
            rule = f"{name} must have the shape of p1, {list(p1.shape)}"
            refuse("simsiam_loss", rule, describe(value))
    if z1.requires_grad or z2.requires_grad:
        rule = "z1 and z2 must carry no gradient"
        refuse("simsiam_loss", rule, "one that does", "give z.detach(): else all collapses")
    return -(_cosine(p1, z2) + _cosine(p2, z1)) / 2


def feature_std(features: Tensor) -> Tensor:
    """How far the features [B, D] are from being one constant: 0 is collapsed, about 1 is even.

    The standard deviation over the batch of each dimension of the features, which are scaled
    to length 1; the mean over dimensions, times sqrt(D). Features that point in all directions
    alike give 1, which nothing exceeds; a batch of one image gives 0.

    >>> feature_std(torch.tensor([[3.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -5.0]]))
    tensor(1.0000)
    >>> feature_std(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(0.)
    """
    _check_features("feature_std", "features", features)
    unit = F.normalize(_wide(features.detach()), dim=1)
    return unit.std(dim=0, correction=0).mean() * math.sqrt(unit.shape[1])


def _cosine(first: Tensor, second: Tensor) -> Tensor:
    return F.cosine_similarity(_wide(first), _wide(second), dim=1)


def _wide(values: Tensor) -> Tensor:
    """At least float32, also in autocast."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _check_features(who: str, name: str, value: Any) -> None:
    floating = isinstance(value, Tensor) and value.is_floating_point()
    if not floating or value.ndim != 2 or value.numel() == 0:
        refuse(who, f"{name} must be a non-empty floating-point tensor [B, D]", describe(value))
