"""Additive noise whose strength softens the label."""

from typing import NamedTuple

from torch import Tensor

from softaug.checks import check_positive
from softaug.draws import to_truncated_normal
from softaug.pixels import add_normal_noise
from softaug.transforms.base import Power, SoftTransform
from softaug.transforms.strength import SIGMA, Auto, Samples, check_strength


class NoiseParams(NamedTuple):
    """Strength of the noise, the seed of its pixels, and the share of the image left."""

    alpha: Tensor  # [B]
    field: Tensor  # [B] int64 in 0..2^32 - 1
    visible: Tensor  # [B]


class SoftNoise(SoftTransform[NoiseParams]):
    """Add `alpha` times normal noise of sd `noise_sd`; `alpha` is normal of sd `sigma`.

    This is the paper's additive noise. It leaves units and visibility open; here noise is
    measured against the full range of an image (255 for uint8, where the result is rounded
    and clamped; 1 for floats, which are not clamped), `alpha` is truncated to (-1, 1), and
    visible = 1 - |alpha|. The paper's 0.1 and 0.1 change a pixel by 2 to 3 of 255 grey
    levels; for noise that can be seen raise `noise_sd`.
    """

    purpose = 3
    num_uniforms = 2
    paceable = SIGMA

    def __init__(self, sigma: float | Auto = 0.1, noise_sd: float = 0.1, k: Power = 1.0) -> None:
        super().__init__(k)
        self.sigma = check_strength(self.name, SIGMA, sigma)
        self.noise_sd = check_positive(self.name, "noise_sd", noise_sd)

    def _draw(self, uniform: Tensor, height: int, width: int, samples: Samples) -> NoiseParams:
        alpha = to_truncated_normal(uniform[:, 0], self._read_strength(samples, uniform), limit=1)
        field = (uniform[:, 1] * 2**32).long()
        return NoiseParams(alpha, field, 1 - alpha.abs())

    def _render(self, batch: Tensor, params: NoiseParams) -> Tensor:
        return add_normal_noise(batch, self.noise_sd, params.alpha, params.field)
