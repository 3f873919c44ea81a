"""Other libraries' random transforms, with draws that depend on the key alone."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import describe, refuse
from softaug.transforms.base import SoftTransform
from softaug.transforms.paced import Samples


class SeedParams(NamedTuple):
    """What torch's generator is seeded with for each image."""

    seed: Tensor  # [B] int64
    visible: Tensor  # [B], all 1


class PerSample(SoftTransform[SeedParams]):
    """Apply `transform`, which draws from torch's generator, to each image by itself.

    For what draws its parameters once for a whole batch, as torchvision's RandAugment does.
    The generator is seeded for each image and left as it was. Images on another device pass
    through the CPU. Labels stay as they come. Two of these in a chain need keys of different
    `stream`, else they draw alike.
    """

    purpose = 7
    num_uniforms = 1

    def __init__(self, transform: Callable[[Tensor], Tensor]) -> None:
        super().__init__(k=1.0)
        self.transform = transform

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> SeedParams:
        seed = (uniform[:, 0] * 2**32).long()
        return SeedParams(seed, torch.ones_like(uniform[:, 0]))

    def _render(self, batch: Tensor, params: SeedParams) -> Tensor:
        before = torch.get_rng_state()
        try:
            images = zip(batch.cpu(), params.seed.tolist(), strict=True)
            return torch.stack([self._one(image, seed) for image, seed in images]).to(batch.device)
        finally:
            torch.set_rng_state(before)

    def _one(self, image: Tensor, seed: int) -> Tensor:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed GPUs too
        out = self.transform(image)
        if out.shape != image.shape or out.dtype != image.dtype:
            rule = f"transform must keep shape and type, {describe(image)}"
            refuse(self.name, rule, describe(out))
        return out
