"""RandAugment and TrivialAugment that report what each operation left."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import check_choice, check_whole, describe, refuse
from softaug.draws import send
from softaug.pixels import Fill, check_fill
from softaug.transforms.affine import measure_visible
from softaug.transforms.base import SoftTransform, Strength
from softaug.transforms.curves import find_curves
from softaug.transforms.operations import OPERATIONS, apply_each, build_maps
from softaug.transforms.strength import STRENGTH, Index, Strengths, check_strength

_LAST_BIN = 30  # magnitudes are 31 even steps from 0 to the widest
_TRIVIAL_SHIFT = 32  # pixels, whatever the image's size


class PolicyParams(NamedTuple):
    """The n operations of each image in order, and what they leave in the frame."""

    operation: Tensor  # [B, n] int64, position in OPERATIONS
    strength: Tensor  # [B, n], in [-1, 1]
    in_frame: Tensor  # [B, n]
    visible: Tensor  # [B], product of in_frame


class SoftPolicy(SoftTransform[PolicyParams]):
    """Apply operations drawn for each image, and soften its label by the curve of each.

    "trivial" is TrivialAugment (Wide): one operation of any of 31 magnitudes. "rand" is
    RandAugment: `num_ops` (2) operations of `magnitude` (9, of 0..30). The laws are
    torchvision's. `curves` say what an operation leaves: "naive" (the crop's rule), a name
    in `softaug.transforms.curves.SHIPPED`, a JSON file, or a mapping. Every magnitude is
    multiplied by `strength`; "auto" is set by a `Pacer`. Images are uint8, or floats in [0, 1],
    of 1 or 3 channels: put it before normalizing.

    >>> from softaug import DrawKey
    >>> policy, image = SoftPolicy("rand"), torch.ones(3, 32, 32)
    >>> policy.describe(policy.draw(image, key=DrawKey(seed=0, epoch=0, index=5)))
    [[('identity', 0.0), ('shear-y', -0.09090909090909091)]]
    """

    purpose = 8
    paceable = STRENGTH

    def __init__(
        self,
        policy: str = "trivial",
        num_ops: int | None = None,
        magnitude: int | None = None,
        curves: Any = "naive",
        fill: Fill = 0,
        strength: Strengths = 1.0,
    ) -> None:
        super().__init__(k=1.0)
        self.strength = check_strength(self.name, STRENGTH, strength)
        check_choice(self.name, "policy", policy, ("trivial", "rand"))
        self.policy = policy
        if policy == "rand":
            num_ops = check_whole(self.name, "num_ops", 2 if num_ops is None else num_ops, least=1)
            magnitude = 9 if magnitude is None else magnitude
            if check_whole(self.name, "magnitude", magnitude, least=0) > _LAST_BIN:
                refuse(self.name, f"magnitude must be at most {_LAST_BIN}", magnitude)
        for name, value in (("num_ops", num_ops), ("magnitude", magnitude)):
            if policy == "trivial" and value is not None:
                remedy = 'leave it out, or use policy="rand"'
                refuse(self.name, f'policy "trivial" has no {name}', value, remedy)
        self.num_ops, self.magnitude = num_ops, magnitude
        self.curves, self._curves = curves, find_curves(self.name, curves)
        missing = [name for name, o in OPERATIONS.items() if o.graded and name not in self._curves]
        if missing:
            remedy = "start from {**softaug.transforms.curves.NAIVE, ...}"
            refuse(
                self.name, "curves must cover every graded operation", f"none of {missing}", remedy
            )
        self.fill = check_fill(self.name, fill)

    @property
    def num_uniforms(self) -> int:  # type: ignore[override]  # it depends on num_ops
        """Two for each operation, its kind and its sign; TrivialAugment draws a magnitude too."""
        return 3 if self.num_ops is None else 2 * self.num_ops

    def describe(self, params: PolicyParams) -> list[list[tuple[str, float]]]:
        """Return names and strengths of each image's operations."""
        names = tuple(OPERATIONS)
        rows = zip(params.operation.tolist(), params.strength.tolist(), strict=True)
        return [[(names[i], s) for i, s in zip(*row, strict=True)] for row in rows]

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> PolicyParams:
        num_ops = self.num_ops or 1
        operation = (uniform[:, :num_ops] * len(OPERATIONS)).floor().long()
        sign = 1 - 2 * (uniform[:, num_ops : 2 * num_ops] < 0.5).to(uniform.dtype)
        table = self._ranges(height, width).to(uniform.dtype)
        widest, signed = send(table, uniform.device)[operation].unbind(-1)
        magnitude = (self._step(uniform) * widest).clamp(max=1)  # [B, n]
        magnitude = (magnitude.T * strength).T  # one for all, or one for each image [B]
        strengths = magnitude * torch.where(signed > 0, sign, 1)
        maps = build_maps(operation.flatten(), strengths.flatten(), height, width)
        frame = measure_visible(maps, height, width).view(strengths.shape)
        return PolicyParams(operation, strengths, frame, frame.prod(dim=1))

    def _ranges(self, height: int, width: int) -> Tensor:
        """Return the widest strength of each operation, and whether it has a sign, [14, 2]."""
        if self.policy == "rand":
            widest = {name: operation.rand_widest for name, operation in OPERATIONS.items()}
        else:  # shifts are in units of an edge; what is more than one is clamped
            shifts = {"translate-x": _TRIVIAL_SHIFT / width, "translate-y": _TRIVIAL_SHIFT / height}
            widest = dict.fromkeys(OPERATIONS, 1.0) | shifts
        rows = [(widest[name] * o.graded, float(o.signed)) for name, o in OPERATIONS.items()]
        return torch.tensor(rows, dtype=torch.float64)

    def _step(self, uniform: Tensor) -> Tensor | float:
        """Return the magnitude as a share of the widest, [B, 1] where it is drawn."""
        if self.magnitude is not None:
            return self.magnitude / _LAST_BIN
        return (uniform[:, 2:] * (_LAST_BIN + 1)).floor() / _LAST_BIN

    def _render(self, batch: Tensor, params: PolicyParams) -> Tensor:
        for operation, strength in zip(params.operation.T, params.strength.T, strict=True):
            batch = apply_each(self.name, batch, operation, strength, self.fill)
        return batch

    def _compute_retained(self, label: Tensor | int, params: PolicyParams, index: Index) -> Tensor:
        retained = torch.ones_like(params.strength)
        for number, name in enumerate(OPERATIONS):
            if (curve := self._curves.get(name)) is not None:
                lost = params.strength.abs() if curve.of == "strength" else 1 - params.in_frame
                retained = torch.where(params.operation == number, curve(lost, label), retained)
        return retained.prod(dim=1)

    def extra_repr(self) -> str:
        return super().extra_repr().removeprefix("k=1.0, ")


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

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> SeedParams:
        seed = (uniform[:, 0] * 2**32).long()
        return SeedParams(seed, torch.ones_like(uniform[:, 0]))

    def _render(self, batch: Tensor, params: SeedParams) -> Tensor:
        done = []
        with torch.random.fork_rng(devices=[]):
            for image, seed in zip(batch.cpu(), params.seed.tolist(), strict=True):
                torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed GPUs too
                out = self.transform(image)
                if out.shape != image.shape or out.dtype != image.dtype:
                    rule = f"transform must keep shape and type, {describe(image)}"
                    refuse(self.name, rule, describe(out))
                done.append(out)
        return torch.stack(done).to(batch.device)
