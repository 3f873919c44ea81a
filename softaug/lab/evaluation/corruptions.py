"""Corrupted test images: how accuracy falls with their level, and examples for pictures."""

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from PIL import Image
from torch import Generator, Tensor

from softaug.lab.data.images import Source
from softaug.lab.schema import (
    CorruptionResult,
    Example,
    Examples,
    ImagePrediction,
    OccludedExamples,
)
from softaug.lab.training.setup import derive_seed
from softaug.metrics import add_noise, occlude, shift_images

CorruptionName = Literal["occlusion", "shift", "noise"]
CORRUPTIONS: tuple[CorruptionName, ...] = get_args(CorruptionName)
CORRUPTION_LABELS = {
    "occlusion": "{:.0%} hidden",
    "shift": "{:.0%} left in frame",
    "noise": "noise {:g}",
}


@dataclass(frozen=True)
class Corruption:
    """A kind of corruption and the levels at which accuracy is measured."""

    name: CorruptionName
    levels: tuple[float, ...]
    """the first changes nothing"""
    apply: Callable[..., Tensor]
    """takes images, a level and a `generator`"""

    def corrupt(self, images: Tensor, place: int, draw: int, chunk: int) -> Tensor:
        """Corrupt images at the level of that place; the same way for every network.

        Drawn on the CPU, whose numbers are the same on every machine; applied where the images
        are.
        """
        draws = Generator().manual_seed(derive_seed(draw, place, chunk))
        return self.apply(images, self.levels[place], generator=draws)

    def summarize(self, right: Tensor, draws: int) -> CorruptionResult:
        """Accuracy and its standard error over images at each level.

        `right` [N, levels] says in how many of the draws each image was recognized.
        """
        shares = right.double() / draws
        return CorruptionResult(
            levels=list(self.levels),
            accuracy=shares.mean(0).tolist(),
            se=(shares.std(0) / len(shares) ** 0.5).tolist(),
            draws=draws,
            n=len(shares),
        )


def make_corruptions(fill: Sequence[int]) -> list[Corruption]:
    """Make occlusion (share hidden), shift (share left in frame), noise (sd, in full ranges).

    Patches and borders are `fill`, a gray level for each channel.
    """
    color = tuple(fill)
    return [
        Corruption("occlusion", (0.0, 0.2, 0.4, 0.6, 0.8), partial(occlude, fill=color)),
        Corruption("shift", (1.0, 0.8, 0.6, 0.4, 0.2), partial(shift_images, fill=color)),
        Corruption("noise", (0.0, 0.02, 0.05, 0.1, 0.2), add_noise),
    ]


NUM_EXAMPLES, NUM_OCCLUDED = 24, 8
SEED = 20230618  # the same images for every network, so that comparisons can pair them
NUM_ANSWERS = 3

Predict = Callable[[Tensor], Tensor]


def make_examples(source: Source, predict: Predict, occlusion: Corruption) -> Examples:
    """Draw images, once for all networks, with what this one says of them, whole and occluded."""
    order = torch.randperm(len(source.labels), generator=Generator().manual_seed(SEED))
    index = order[:NUM_EXAMPLES]
    images, labels = source.fetch(index), source.labels[index]
    whole = [
        Example(index=place, label=label, **found.model_dump())
        for place, label, found in zip(
            index.tolist(), labels.tolist(), _describe(images, predict(images)), strict=True
        )
    ]
    hidden = []
    for place, share in enumerate(occlusion.levels):
        corrupted = occlusion.corrupt(images[:NUM_OCCLUDED], place, draw=0, chunk=0)
        found = _describe(corrupted, predict(corrupted))
        hidden.append(OccludedExamples(share=share, images=found))
    return Examples(whole=whole, occluded=hidden)


def _describe(images: Tensor, logits: Tensor) -> list[ImagePrediction]:
    probs, classes = logits.cpu().softmax(1).topk(min(NUM_ANSWERS, logits.shape[1]))
    shares = [[round(share, 4) for share in row] for row in probs.tolist()]
    rows = zip(images, classes.tolist(), shares, strict=True)
    return [
        ImagePrediction(png=encode_png(image), answers=list(zip(numbers, row, strict=True)))
        for image, numbers, row in rows
    ]


def encode_png(image: Tensor) -> str:
    """Encode a uint8 image [3, H, W] as the text of a PNG file (base64)."""
    packed = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()
