"""Predictions of a network on whole data sets, in the recipe's precision."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from softaug.lab.data.images import Images, Source
from softaug.lab.training.logging import num_cores
from softaug.lab.training.setup import ignore_signals

if TYPE_CHECKING:
    from softaug.lab.training.distributed import DistContext

CHUNK = 500  # images of CIFAR's size; fewer large ones
CHUNK_PIXELS = CHUNK * 32 * 32
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

Output = TypeVar("Output")


def in_precision(
    net: Callable[..., Output], device: torch.device, precision: str
) -> Callable[..., Output]:
    """Return what calls `net` under autocast, or `net` itself for float32."""
    if precision == "float32":
        return net
    return torch.autocast(device.type, DTYPES[precision])(net)  # type: ignore[no-any-return]


@torch.no_grad()
def predict(net: nn.Module, images: Tensor, precision: str = "float32") -> Tensor:
    """Predict the logits, or features, of uint8 images: [B, C] float32 where the network is."""
    device = next(net.parameters()).device
    output: Tensor = in_precision(net, device, precision)(images.to(device))
    return output.float()


def predict_all(
    net: nn.Module,
    source: Source,
    precision: str = "float32",
    context: DistContext | None = None,
    workers: int = 0,
) -> Tensor:
    """Predict for all images of a source, [N, C] in every process; processes share the images."""
    net.eval()
    num = len(source.labels)
    rank, world_size = (context.rank, context.world_size) if context else (0, 1)
    first, last = (num * bound // world_size for bound in (rank, rank + 1))
    parts = chunks(source, workers, first, last)
    logits = torch.cat([predict(net, images, precision) for images in parts])
    gathered = logits.new_zeros(num, logits.shape[1])
    gathered[first:last] = logits
    return context.all_reduce(gathered) if context else gathered


def chunks(
    source: Source, workers: int, first: int = 0, last: int | None = None
) -> Iterator[Tensor]:
    """Iterate over the images from `first` to `last`, about 500 of CIFAR's size at a time.

    They are in order, and read ahead by `workers` processes if any.
    """
    parts = Chunks(source, range(len(source.labels))[first:last])
    workers = min(workers, len(parts))
    return iter(
        DataLoader(parts, batch_size=None, num_workers=workers, worker_init_fn=ignore_signals)
    )


class Chunks(Dataset[Tensor]):
    """Images of a source in chunks of about as many pixels."""

    def __init__(self, source: Source, index: range) -> None:
        self.source = source
        height, width = source.fetch(torch.zeros_like(source.labels[:1])).shape[-2:]
        num = max(8, min(CHUNK, CHUNK_PIXELS // (height * width)))
        self.parts = torch.tensor(index).split(num)  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> Tensor:
        return self.source.fetch(self.parts[index].to(self.source.labels.device))


def workers_for(source: Source) -> int:
    """Count the processes that read ahead: a core each for files, none for images in memory."""
    if isinstance(source, Images):
        return 0
    return max(1, num_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
