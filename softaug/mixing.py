"""Mixup and CutMix: each sample of a batch is made of two images, and so is its label."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

import torch
from torch import Generator, Tensor, nn

from softaug.checks import check_images, check_positive, check_whole, describe, refuse
from softaug.draws import DrawKey, draw_uniforms, send
from softaug.label import MixedLabel, SoftLabel, check_label_batch, mix_labels
from softaug.pixels import erase

Labels = Tensor | SoftLabel


class MixParams(NamedTuple):
    """Whom each image is mixed with, and its own share of the mix."""

    partner: Tensor  # [B] int64, an index in the batch
    share: Tensor  # [B] float32; of CutMix, of the pixels outside the box
    box: Tensor | None = None  # [B, 4] int64, of CutMix: rows top..bottom - 1, left..right - 1


class Draw(NamedTuple):
    """What is drawn for one batch."""

    partner: Tensor  # [B] int64, a permutation
    share: float  # Beta(alpha, alpha)
    spare: tuple[float, float]  # uniform in (0, 1)


Rows = TypeVar("Rows", bound=Tensor | SoftLabel | MixParams)


class BatchMix(nn.Module, ABC):
    """Base of `Mixup` and `CutMix`: `mix(images, labels) -> (images, MixedLabel)`.

    Takes a batch [B, C, H, W], uint8 or float, on any device, and labels [B] or a `SoftLabel`.
    As in the papers, one share is drawn for the batch, and partners by a permutation of it: an
    image may be its own partner, and that of a batch of one always is.
    `key`, a `DrawKey` whose index is the number of the step, makes the draws a pure function of
    it. A process that holds some rows of a batch draws for the whole batch, and then applies
    `take(params, rows)` to its own images and their partners.
    """

    purpose: ClassVar[int]

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = check_positive(self.name, "alpha", alpha)

    @property
    def name(self) -> str:
        return type(self).__name__

    def forward(
        self,
        images: Tensor,
        labels: Labels,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> tuple[Tensor, MixedLabel]:
        """Draw, apply and report in one go; the partners are of the same batch."""
        _check_batch(self.name, images)
        labels = SoftLabel(*check_label_batch(self.name, labels, len(images)))
        height, width = images.shape[-2:]
        params = self.draw(len(images), height, width, generator=generator, key=key)
        partners = take(images, params.partner)
        mixed = self.report(labels, take(labels, params.partner), params)
        return self.apply(images, partners, params), mixed

    def draw(
        self,
        num: int,
        height: int,
        width: int,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> MixParams:
        """Draw parameters for `num` images of this size, each field [num], on the CPU."""
        for name, value in (("height", height), ("width", width)):
            check_whole(self.name, name, value, least=1)
        drawn = draw_pairs(self.name, num, self.alpha, self.purpose, generator, key)
        return self._params(drawn, height, width)

    @overload
    def apply(self, images: Tensor, partners: Tensor, params: MixParams) -> Tensor: ...

    @overload
    def apply(self, images: Callable[[nn.Module], Any]) -> "BatchMix": ...

    def apply(self, images: Any, partners: Any = None, params: Any = None) -> Any:
        """Mix `images` with `partners`, which stand in the same order; no randomness.

        (With a function alone it is `nn.Module.apply`, which parents call on their children.)
        """
        if params is None and callable(images) and not isinstance(images, Tensor):
            return super().apply(images)
        _check_pair(self.name, images, partners, params)
        return self._render(images, partners, params)

    def report(self, first: Labels, second: Labels, params: MixParams) -> MixedLabel:
        """Mix the labels; `second` are the partners', in the same order."""
        return mix_labels(first, second, params.share)

    @abstractmethod
    def _params(self, drawn: Draw, height: int, width: int) -> MixParams:
        """Make parameters of the numbers drawn for a batch."""

    @abstractmethod
    def _render(self, images: Tensor, partners: Tensor, params: MixParams) -> Tensor:
        """Mix the images [B, C, H, W] by `params`."""

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class Mixup(BatchMix):
    """Weighted mean of two images (Zhang et al. 2018); the share is Beta(alpha, alpha).

    uint8 images are rounded to the nearest grey level.

    >>> images, labels = torch.tensor([0, 200]).view(2, 1, 1, 1).byte(), torch.tensor([3, 7])
    >>> params = MixParams(partner=torch.tensor([1, 0]), share=torch.tensor([0.75, 0.75]))
    >>> Mixup().apply(images, images.flip(0), params).flatten().tolist()
    [50, 150]
    """

    purpose = 32  # transforms of single images take those below

    def _params(self, drawn: Draw, height: int, width: int) -> MixParams:
        return MixParams(drawn.partner, torch.full((len(drawn.partner),), drawn.share))

    def _render(self, images: Tensor, partners: Tensor, params: MixParams) -> Tensor:
        return mix_values(images, partners, params.share)


class CutMix(BatchMix):
    """A box of the image shows its partner's pixels (Yun et al. 2019).

    The box has 1 - lambda of the area, lambda being Beta(alpha, alpha), and the image's shape;
    its center is even over the image, and what reaches over the edge is cut off. The share is
    that of the pixels which stayed.

    >>> images, label = CutMix()(torch.zeros(4, 3, 32, 32), torch.tensor([3, 1, 0, 2]))
    >>> images.shape, label.labels.shape
    (torch.Size([4, 3, 32, 32]), torch.Size([4, 2]))
    """

    purpose = 33

    def _params(self, drawn: Draw, height: int, width: int) -> MixParams:
        top, bottom = _edges(drawn.spare[0], drawn.share, height)
        left, right = _edges(drawn.spare[1], drawn.share, width)
        share = 1 - (bottom - top) * (right - left) / (height * width)
        num = len(drawn.partner)
        box = torch.tensor([top, bottom, left, right]).expand(num, 4)
        return MixParams(drawn.partner, torch.full((num,), share), box)

    def _render(self, images: Tensor, partners: Tensor, params: MixParams) -> Tensor:
        assert params.box is not None, "CutMix has drawn one"
        top, bottom, left, right = send(params.box, images.device).unbind(1)
        return erase(images, top, left, bottom - top, right - left, fill=partners)


def draw_pairs(
    who: str,
    num: int,
    alpha: float,
    purpose: int,
    generator: Generator | None,
    key: DrawKey | None,
) -> Draw:
    """Draw partners, their share and two spare numbers for a batch of `num` samples."""
    check_whole(who, "num", num, least=1)
    if isinstance(key, DrawKey) and torch.as_tensor(key.index).numel() != 1:
        rule = "key.index must be one whole number, that of the step"
        refuse(who, rule, describe(key.index))
    scalar = torch.empty(1, 1, 1)  # one draw, on the CPU
    numbers = draw_uniforms(who, scalar, 3 + num, purpose, generator, key)[0]
    seed, *spare = numbers[:3].tolist()
    partner = numbers[3:].argsort(stable=True)
    return Draw(partner, _beta(alpha, int(seed * 2**32)), (spare[0], spare[1]))


def _beta(alpha: float, seed: int) -> float:
    """Draw a Beta(alpha, alpha) number, a pure function of the seed; torch's generator stays.

    It is X / (X + Y) of two Gamma(alpha) numbers. Gamma(alpha + 1) * U ** (1 / alpha) is one,
    and its logarithm never underflows: torch's Beta does, and gives 1/2 below alpha = 0.001.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed GPUs too
        shape = torch.full((2,), alpha + 1, dtype=torch.float64)
        gamma = torch.distributions.Gamma(shape, torch.ones_like(shape)).sample().log()
        uniform = torch.rand(2, dtype=torch.float64).clamp_min(2**-54).log()
    odds = (gamma[0] - gamma[1]) + (uniform[0] - uniform[1]) / alpha
    return float(odds.sigmoid())


def mix_values(first: Tensor, second: Tensor, share: Tensor) -> Tensor:
    """Average values [B, ...]; `share` [B] is the first's. Whole numbers are rounded."""
    if not first.is_floating_point():
        return mix_values(first.float(), second.float(), share).round_().to(first.dtype)
    weight = send(share, first.device).to(first.dtype)
    return torch.lerp(second, first, weight.view(-1, *[1] * (first.ndim - 1)))


def take(values: Rows, rows: Tensor | slice) -> Rows:
    """Take rows of a tensor, or of each field of labels or parameters."""
    if isinstance(values, Tensor):
        index = send(rows, values.device) if isinstance(rows, Tensor) else rows
        return values[index]  # type: ignore[return-value]
    fields: Any = values
    taken: list[Any] = [None if field is None else take(field, rows) for field in fields]
    return type(values)(*taken)


def _edges(uniform: float, share: float, length: int) -> tuple[int, int]:
    """Return the first pixel inside the box and the first after it, along one side of the image."""
    half = int(0.5 * math.sqrt(1 - share) * length)
    center = int(uniform * length)
    return max(center - half, 0), min(center + half, length)


def _check_batch(who: str, images: Any) -> None:
    check_images(who, images)
    if images.ndim != 4:
        remedy = "mix in the training loop or in a collate function"
        refuse(who, "images must be a batch [B, C, H, W]", describe(images), remedy)


def _check_pair(who: str, images: Any, partners: Any, params: Any) -> None:
    _check_batch(who, images)
    if params is None:
        rule = "apply needs images, their partners and the drawn parameters"
        refuse(who, rule, "no parameters")
    _check_batch(who, partners)
    if partners.shape != images.shape or partners.dtype != images.dtype:
        rule = f"partners must be like the images, {describe(images)}"
        refuse(who, rule, describe(partners))
    if params.share.shape != (len(images),):
        rule = f"apply needs parameters for each of the {len(images)} images"
        refuse(who, rule, f"parameters for {params.share.numel()}", "use take(params, rows)")
