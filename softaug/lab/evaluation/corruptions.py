"""How accuracy falls when images are occluded, shifted or noisy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from torch import Generator, Tensor

from softaug.lab.training.batches import derive_seed
from softaug.metrics import add_noise, occlude, shift_images

Harm = Callable[[Tensor, float, Generator], Tensor]
HarmName = Literal["occlusion", "shift", "noise"]
HARMS: tuple[HarmName, ...] = get_args(HarmName)


@dataclass(frozen=True)
class Ordeal:
    """A kind of harm and the levels at which accuracy is measured; the first does nothing."""

    name: HarmName
    levels: tuple[float, ...]
    harm: Harm


def ordeals(fill: Sequence[int]) -> list[Ordeal]:
    """Occlusion (share hidden), shift (share left in frame), noise (sd, in full ranges).

    Patches and borders are `fill`, a grey level for each channel.
    """
    colour = tuple(fill)
    return [
        Ordeal("occlusion", (0.0, 0.2, 0.4, 0.6, 0.8), partial(_occlude, fill=colour)),
        Ordeal("shift", (1.0, 0.8, 0.6, 0.4, 0.2), partial(_shift, fill=colour)),
        Ordeal("noise", (0.0, 0.02, 0.05, 0.1, 0.2), _noise),
    ]


def _occlude(images: Tensor, share: float, places: Generator, fill: tuple[int, ...]) -> Tensor:
    return occlude(images, share, generator=places, fill=fill)


def _shift(images: Tensor, visible: float, places: Generator, fill: tuple[int, ...]) -> Tensor:
    return shift_images(images, visible, generator=places, fill=fill)


def _noise(images: Tensor, sd: float, draws: Generator) -> Tensor:
    return add_noise(images, sd, generator=draws)


def harmed(ordeal: Ordeal, place: int, draw: int, chunk: int, images: Tensor) -> Tensor:
    """The images at a level of an ordeal; the same for every network that is measured.

    Drawn on the CPU, whose numbers are the same on every machine; harmed where the images are.
    """
    draws = Generator().manual_seed(derive_seed(draw, place, chunk))
    return ordeal.harm(images, ordeal.levels[place], draws)


def summary(ordeal: Ordeal, right: Tensor, draws: int) -> dict[str, Any]:
    """Accuracy and its standard error over images at each level.

    `right` [N, levels] says in how many of the draws each image was recognised.
    """
    shares = right.double() / draws
    return {
        "levels": list(ordeal.levels),
        "accuracy": shares.mean(0).tolist(),
        "se": (shares.std(0) / len(shares) ** 0.5).tolist(),
        "draws": draws,
        "n": len(shares),
    }
