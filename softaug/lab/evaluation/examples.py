"""A few test images with what the network says of them, for pictures."""

import base64
import io
from collections.abc import Callable
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from softaug.lab.data.images import Source
from softaug.lab.evaluation.corruptions import Ordeal, harmed

NUM_EXAMPLES, NUM_OCCLUDED = 24, 8
SEED = 20230618  # the same images for every network, so that comparisons can pair them
TOP = 3

Predict = Callable[[Tensor], Tensor]


def examples(source: Source, predict: Predict, occlusion: Ordeal) -> dict[str, Any]:
    """Images drawn once for all, their labels, and the answers given, whole and occluded."""
    order = torch.randperm(len(source.labels), generator=torch.Generator().manual_seed(SEED))
    index = order[:NUM_EXAMPLES]
    images, labels = source.fetch(index), source.labels[index]
    whole = _described(images, predict(images))
    found = [
        {"index": int(place), "label": int(label), **shown}
        for place, label, shown in zip(index, labels, whole, strict=True)
    ]
    hidden = [
        {"share": share, "images": _harmed(occlusion, level, images[:NUM_OCCLUDED], predict)}
        for level, share in enumerate(occlusion.levels)
    ]
    return {"whole": found, "occluded": hidden}


def _harmed(ordeal: Ordeal, level: int, images: Tensor, predict: Predict) -> list[dict[str, Any]]:
    damaged = harmed(ordeal, level, draw=0, chunk=0, images=images)
    return _described(damaged, predict(damaged))


def _described(images: Tensor, logits: Tensor) -> list[dict[str, Any]]:
    probs, classes = logits.cpu().softmax(1).topk(min(TOP, logits.shape[1]))
    return [
        {
            "png": as_png(image),
            "answers": [
                [int(number), round(float(share), 4)]
                for number, share in zip(classes[place], probs[place], strict=True)
            ],
        }
        for place, image in enumerate(images)
    ]


def as_png(image: Tensor) -> str:
    """A uint8 image [3, H, W] as the text of a PNG file (base64)."""
    packed = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()
