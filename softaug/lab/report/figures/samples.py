"""Sample crops: the image with its window, what the network sees, and the target."""

import base64
import io
from dataclasses import dataclass

from PIL import Image

from softaug.lab.report.results import Sample


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels of the image."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class SampleView:
    """What the template needs to draw one sample."""

    sample: Sample
    original: str
    image: str
    kept: Box  # the part of the original that stays in frame
    shown: Box  # where that part is in the crop
    width: int
    height: int


def sample_views(samples: list[Sample]) -> list[SampleView]:
    """The samples from the most to the least visible."""
    ordered = sorted(samples, key=lambda sample: -sample["visible"])
    return [sample_view(sample) for sample in ordered]


def sample_view(sample: Sample) -> SampleView:
    """Images as data URIs, and the geometry of the crop."""
    height, width = len(sample["original"]), len(sample["original"][0])
    dx, dy = sample["dx"], sample["dy"]
    across, down = max(0, width - abs(dx)), max(0, height - abs(dy))
    kept = Box(max(0, dx), max(0, dy), across, down)
    shown = Box(max(0, -dx), max(0, -dy), across, down)
    original, image = png_uri(sample["original"]), png_uri(sample["image"])
    return SampleView(sample, original, image, kept, shown, width, height)


def png_uri(rows: list[list[int]]) -> str:
    """A grey image [H, W] of 0..255 as a PNG data URI."""
    picture = Image.new("L", (len(rows[0]), len(rows)))
    picture.putdata([value for row in rows for value in row])
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
