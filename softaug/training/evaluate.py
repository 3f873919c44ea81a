"""Everything that is measured on a trained model."""

from typing import Any

import torch
from torch import Tensor, nn

from softaug.data.images import Images
from softaug.metrics import (
    calibration_error,
    confidence_gap,
    error,
    nll,
    occlude,
    reliability,
)

OCCLUSION_PERCENT = (0, 20, 40, 60, 80)


def evaluate(
    model: nn.Module, data: Images, occlusion_draws: int, occlusion_fill: int
) -> dict[str, Any]:
    """Error, NLL, calibration and accuracy under occlusion, as plain numbers.

    `gap` is mean confidence minus accuracy: below 0 the model is under-confident.
    """
    logits = predict(model, data.images)
    probs = logits.softmax(1)
    return {
        "error": float(error(logits, data.labels)),
        "nll": float(nll(logits, data.labels)),
        "ece": float(calibration_error(probs, data.labels)),
        "gap": float(confidence_gap(probs, data.labels)),
        "occlusion": {
            str(percent): occluded_accuracy(
                model, data, percent / 100, occlusion_draws, occlusion_fill
            )
            for percent in OCCLUSION_PERCENT
        },
        "reliability": {
            name: [round(value, 6) for value in values.tolist()]
            for name, values in reliability(probs, data.labels)._asdict().items()
        },
    }


def occluded_accuracy(
    model: nn.Module, data: Images, fraction: float, num_draws: int, fill: int
) -> float:
    """Accuracy with a patch over `fraction` of each image, mean of `num_draws` placings.

    The placings are the same for every model.
    """
    right = []
    for draw in range(num_draws if fraction > 0 else 1):
        places = torch.Generator().manual_seed(draw)
        hidden = occlude(data.images, fraction, generator=places, fill=fill)
        right.append(1 - float(error(predict(model, hidden), data.labels)))
    return sum(right) / len(right)


@torch.no_grad()
def predict(model: nn.Module, images: Tensor, batch: int = 500) -> Tensor:
    """Logits [N, C] of `images`, the model in evaluation mode."""
    model.eval()
    parts = images.split(batch)  # type: ignore[no-untyped-call]
    return torch.cat([model(part) for part in parts])
