"""Affine maps of a batch, one for each image: rendering, and the share left in frame.

A map [B, 2, 3] leads from a pixel of the result to its source in the image: x' = a x + b y + c,
y' = d x + e y + f, in pixels from the image's centre. `inverse_map` makes one from rotation,
shift, scale and shear; others may be written down.
"""

import torch
from torch import Tensor

from softaug.draws import send
from softaug.transforms.base import pixel_columns, pixel_rows

# Sources halfway between two pixels (rotation by 45 degrees has a row of them) go to the
# higher one, whatever the last bits of a device's arithmetic are.
_TIE = 1e-5


def inverse_map(angle: Tensor, shift: Tensor, scale: Tensor, shear: Tensor) -> Tensor:
    """The map of an image that is sheared, scaled, rotated about its centre, then shifted.

    `angle` [B] is in radians, clockwise as shown; `shift` [B, 2] in pixels, right and down;
    `scale` [B] above 1 enlarges; `shear` [B, 2] in radians, along x and along y.
    """
    along_x, along_y = shear[:, 0].tan(), shear[:, 1].tan()
    cos, sin = angle.cos(), angle.sin()
    a, c = cos + sin * along_y, sin - cos * along_y  # rotation times shear; determinant 1
    b, d = -a * along_x - sin, -c * along_x + cos
    inverse = torch.stack([d, -b, -c, a], dim=-1).view(-1, 2, 2) / scale.view(-1, 1, 1)
    return torch.cat([inverse, -inverse @ shift.unsqueeze(-1)], dim=-1)


def render(images: Tensor, maps: Tensor, fill: Tensor) -> Tensor:
    """The nearest pixel of each source, `fill` where the source is outside the image."""
    height, width = images.shape[-2:]
    x, y = _source(maps, *_frame(images, maps))  # [B, H, W], pixels from the centre
    # A border of fill, one pixel wide, stands for all that is outside.
    bordered = fill.expand(*images.shape[:2], height + 2, width + 2).clone()
    bordered[..., 1:-1, 1:-1] = images
    column = (x + (width / 2 + 1 + _TIE)).clamp_(0, width + 1).long()  # cuts fractions off
    row = (y + (height / 2 + 1 + _TIE)).clamp_(0, height + 1).long()
    pixel = row.mul_(width + 2).add_(column).flatten(1)[:, None]
    found = bordered.flatten(2).gather(2, pixel.expand(-1, images.shape[1], -1))
    return found.view(images.shape)


def _frame(images: Tensor, maps: Tensor) -> tuple[Tensor, Tensor]:
    """Centres of the pixels from the image's centre: columns [W] and rows [H, 1]."""
    height, width = images.shape[-2:]
    columns = pixel_columns(images).to(maps.dtype) + (0.5 - width / 2)
    rows = pixel_rows(images).to(maps.dtype) + (0.5 - height / 2)
    return columns, rows.unsqueeze(-1)


def _source(maps: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Where each map takes the points (x, y)."""
    a, b, c, d, e, f = maps.flatten(1).view(-1, 6, *[1] * y.ndim).unbind(1)
    return a * x + (b * y + c), d * x + (e * y + f)


def share_in_frame(maps: Tensor, height: int, width: int) -> Tensor:
    """Share of each image's area that is shown, [B]: 1 for a zoomed-out image.

    The frame's source is a parallelogram; what it has in common with the image is shown.
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
