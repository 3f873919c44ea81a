"""Rotate, shift, scale and shear images, with the exact share left in frame."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softaug.checks import LARGEST, check_range, describe, is_real, refuse
from softaug.draws import send, to_range
from softaug.pixels import Fill, check_fill, make_fill
from softaug.transforms.base import SoftTransform, Strength
from softaug.transforms.strength import STRENGTH, Strengths, check_strength

Range = float | Sequence[float]


class AffineParams(NamedTuple):
    """How each image is sheared, scaled, rotated and shifted, and the share left in frame."""

    angle: Tensor  # [B], degrees clockwise
    dx: Tensor  # [B] int64, > 0 moves the image right
    dy: Tensor  # [B] int64, > 0 moves the image down
    scale: Tensor  # [B], > 1 enlarges
    shear_x: Tensor  # [B], degrees
    shear_y: Tensor  # [B], degrees
    visible: Tensor  # [B]


class SoftAffine(SoftTransform[AffineParams]):
    """Rotate, shift, scale and shear each image about its centre, as RandomAffine draws them.

    `degrees` and `shear` are even in (low, high), or in (-d, d) for one number d; four
    numbers of `shear` are for x and y. Shifts are whole pixels, even up to `translate` of
    the width and of the height; `scale` is even in (low, high). `visible` is the exact share
    of the image's area in the frame: 1 for one zoomed out, however small it gets. Pixels are
    the nearest ones; where there is no image they are `fill`. What is drawn (of a
    scale: how far it is from 1) is multiplied by `strength`; "auto" is set by a `Pacer`.

    >>> from softaug import DrawKey
    >>> image = torch.ones(3, 32, 32)
    >>> _, label = SoftAffine(degrees=45)(image, 7, key=DrawKey(seed=0, epoch=0, index=5))
    >>> label.label, round(label.retained, 4)
    (7, 0.9706)
    """

    purpose = 9
    num_uniforms = 6
    paceable = STRENGTH

    def __init__(
        self,
        degrees: Range = 30.0,
        translate: tuple[float, float] = (0.0, 0.0),
        scale: tuple[float, float] = (1.0, 1.0),
        shear: Range = 0.0,
        k: float = 2.0,
        fill: Fill = 0,
        strength: Strengths = 1.0,
    ) -> None:
        super().__init__(k)
        self.degrees = _check_range(self.name, "degrees", degrees, lengths=(2,))
        self.translate = _read_numbers(translate)
        if len(self.translate) != 2 or not all(0 <= share <= 1 for share in self.translate):
            rule = "translate must be two numbers in 0..1, shares of width and height"
            refuse(self.name, rule, describe(translate))
        self.scale = check_range(self.name, "scale", scale)
        self.shear = _check_range(self.name, "shear", shear, lengths=(2, 4))
        if max(map(abs, self.shear)) >= 90:
            refuse(self.name, "shear must be below 90 degrees", shear)
        self.fill = check_fill(self.name, fill)
        self.strength = check_strength(self.name, STRENGTH, strength)

    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> AffineParams:
        right, down = self.translate[0] * width, self.translate[1] * height
        shears, share = (*self.shear, 0.0, 0.0), strength
        params = AffineParams(
            angle=to_range(uniform[:, 0], *self.degrees) * share,
            dx=(to_range(uniform[:, 1], -right, right) * share).round().long(),
            dy=(to_range(uniform[:, 2], -down, down) * share).round().long(),
            scale=to_range(uniform[:, 3], *self.scale) * share + (1 - share),  # on the way from 1
            shear_x=to_range(uniform[:, 4], *shears[:2]) * share,
            shear_y=to_range(uniform[:, 5], *shears[2:4]) * share,
            visible=torch.ones_like(uniform[:, 0]),
        )
        return params._replace(visible=measure_visible(_maps(params), height, width))

    def _render(self, batch: Tensor, params: AffineParams) -> Tensor:
        return render_affine(batch, _maps(params), make_fill(self.name, self.fill, batch))


def _maps(params: AffineParams) -> Tensor:
    shift = torch.stack([params.dx, params.dy], dim=-1).to(params.angle.dtype)
    shear = torch.stack([params.shear_x, params.shear_y], dim=-1)
    return build_inverse_map(params.angle.deg2rad(), shift, params.scale, shear.deg2rad())


# Sources halfway between two pixels (rotation by 45 degrees has a row of them) go to the
# higher one, whatever the last bits of a device's arithmetic are.
_TIE = 1e-5


def build_inverse_map(angle: Tensor, shift: Tensor, scale: Tensor, shear: Tensor) -> Tensor:
    """Return the map of an image that is sheared, scaled, rotated about its centre, then shifted.

    `angle` [B] is in radians, clockwise as shown; `shift` [B, 2] in pixels, right and down;
    `scale` [B] above 1 enlarges; `shear` [B, 2] in radians, along x and along y.
    """
    along_x, along_y = shear[:, 0].tan(), shear[:, 1].tan()
    cos, sin = angle.cos(), angle.sin()
    a, c = cos + sin * along_y, sin - cos * along_y  # rotation times shear; determinant 1
    b, d = -a * along_x - sin, -c * along_x + cos
    inverse = torch.stack([d, -b, -c, a], dim=-1).view(-1, 2, 2) / scale.view(-1, 1, 1)
    return torch.cat([inverse, -inverse @ shift.unsqueeze(-1)], dim=-1)


def render_affine(images: Tensor, maps: Tensor, fill: Tensor) -> Tensor:
    """Take the nearest pixel of each source, `fill` where the source is outside the image."""
    height, width = images.shape[-2:]
    # Centers of the pixels from the center of the image, and where they come from, [B, H, W].
    columns = torch.arange(width, device=images.device).to(maps.dtype) + (0.5 - width / 2)
    rows = torch.arange(height, device=images.device).to(maps.dtype) + (0.5 - height / 2)
    x, y = _source(maps, columns, rows.unsqueeze(-1))
    # A border of fill, one pixel wide, stands for all that is outside.
    bordered = fill.expand(*images.shape[:2], height + 2, width + 2).clone()
    bordered[..., 1:-1, 1:-1] = images
    column = (x + (width / 2 + 1 + _TIE)).clamp_(0, width + 1).long()  # cuts fractions off
    row = (y + (height / 2 + 1 + _TIE)).clamp_(0, height + 1).long()
    pixel = row.mul_(width + 2).add_(column).flatten(1)[:, None]
    rendered = bordered.flatten(2).gather(2, pixel.expand(-1, images.shape[1], -1))
    return rendered.view(images.shape)


def _source(maps: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each map takes the points (x, y) from."""
    a, b, c, d, e, f = maps.flatten(1).view(-1, 6, *[1] * y.ndim).unbind(1)
    return a * x + (b * y + c), d * x + (e * y + f)


def measure_visible(maps: Tensor, height: int, width: int) -> Tensor:
    """Measure the visible share of each image's area, [B]: 1 for a zoomed-out image.

    The frame's source is a parallelogram; its intersection with the image is visible.
    Its outline, clamped to the image, runs around that common part (and back and forth on
    the image's border, which encloses nothing), so that the shoelace formula gives the area.
    """
    right, down = width / 2, height / 2
    frame = [[-right, right, right, -right], [-down, -down, down, down]]
    corners = send(torch.tensor(frame, dtype=maps.dtype), maps.device)
    x, y = _source(maps, *corners)  # [B, 4], the frame's corners in order
    run, rise = x.roll(-1, 1) - x, y.roll(-1, 1) - y
    # Each edge is cut where it crosses the image's four border lines.
    limits = [(-right - x) / run, (right - x) / run, (-down - y) / rise, (down - y) / rise]
    start = torch.zeros_like(x)
    cuts = torch.stack([start, *limits], dim=-1).nan_to_num(0).clamp(0, 1).sort(dim=-1).values
    outline_x = (x.unsqueeze(-1) + cuts * run.unsqueeze(-1)).clamp(-right, right).flatten(1)
    outline_y = (y.unsqueeze(-1) + cuts * rise.unsqueeze(-1)).clamp(-down, down).flatten(1)
    twice = outline_x * outline_y.roll(-1, 1) - outline_x.roll(-1, 1) * outline_y
    return (twice.sum(1).abs() / (2 * height * width)).clamp(max=1)


def _check_range(who: str, name: str, value: Any, lengths: tuple[int, ...]) -> tuple[float, ...]:
    """Return (-d, d) for a number d >= 0, else pairs (low, high)."""
    numbers = _read_numbers((-value, value) if is_real(value) else value)
    pairs = zip(numbers[::2], numbers[1::2], strict=False)
    if len(numbers) not in lengths or not all(-LARGEST <= a <= b <= LARGEST for a, b in pairs):
        refuse(who, f"{name} must be a number >= 0 or low <= high", describe(value))
    return numbers


def _read_numbers(value: Any) -> tuple[float, ...]:
    """Return `value` as a tuple of numbers, empty where it is none."""
    try:
        return () if isinstance(value, str) else tuple(map(float, value))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return ()
