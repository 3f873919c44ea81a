"""Re-estimate the statistics of BatchNorm layers, for instance on milder crops than in training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from softaug.softening import all_reduce_sum


def update_batchnorm(
    model: nn.Module,
    loader: Iterable[Any],
    transform: Callable[..., Any] | None = None,
    device: torch.device | None = None,
) -> None:
    """Replace the statistics of all BatchNorm layers by those of the images in `loader`.

    The weights do not change. `loader` yields batches of images, or of images and labels;
    `transform(images)`, or `transform(images, labels)`, augments them, for instance
    `SoftCrop(sigma=0.1)`. Far crops move the statistics away from those of whole images, and an
    average of weights has no statistics of its own.

    This is `torch.optim.swa_utils.update_bn` with a transform, for several processes too: each
    passes its share of the batches, and all end with the statistics of the batches of all.

    >>> model = nn.Sequential(nn.BatchNorm1d(1))
    >>> update_batchnorm(model, [torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0]])])
    >>> model[0].running_mean
    tensor([4.])
    """
    update_bn(_transformed(loader, transform), model, device)
    _average_over_processes(model)


def _transformed(loader: Iterable[Any], transform: Callable[..., Any] | None) -> Iterator[Tensor]:
    """Yield the images of each batch, augmented."""
    for batch in loader:
        if transform is not None:
            batch = transform(*batch) if isinstance(batch, (tuple, list)) else transform(batch)
        yield batch[0] if isinstance(batch, (tuple, list)) else batch


@torch.no_grad()
def _average_over_processes(model: nn.Module) -> None:
    """Average the statistics of all processes, each by its number of batches."""
    for layer in model.modules():
        if isinstance(layer, _BatchNorm) and layer.running_mean is not None:
            assert layer.running_var is not None
            assert layer.num_batches_tracked is not None
            num = layer.num_batches_tracked.to(layer.running_mean.dtype)
            total = all_reduce_sum(num)
            for statistic in (layer.running_mean, layer.running_var):
                statistic.copy_(all_reduce_sum(statistic * num) / total.clamp(min=1))
            layer.num_batches_tracked.copy_(total)
