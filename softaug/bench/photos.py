"""The photographs that the input suite reads: your own, or pictures made to cost the same."""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from softaug.checks import refuse

VARIABLE = "SOFTAUG_PHOTOS"
JPEG = (".jpg", ".jpeg")
SHAPE = (375, 500)  # the most common one in ImageNet


def find_photos(num: int, folder: Path) -> tuple[list[str], str]:
    """At most `num` JPEGs below the folder SOFTAUG_PHOTOS, evenly picked; else made in `folder`.

    The second is what they are, for a title.
    """
    where = os.environ.get(VARIABLE)
    if not where:
        made = f"made JPEGs, smooth noise of {SHAPE[1]} x {SHAPE[0]}, quality 95"
        return [_make(folder / f"{number}.jpg", number) for number in range(num)], made
    found = sorted(path for path in Path(where).rglob("*") if path.suffix.lower() in JPEG)
    if not found:
        refuse("bench", f"{VARIABLE} must name a folder of JPEGs", where)
    num = min(num, len(found))
    picked = [str(found[place * len(found) // num]) for place in range(num)]
    return picked, f"photographs in {VARIABLE}"


def _make(path: Path, seed: int) -> str:
    """Noise of all sizes, each twice as strong as the next finer: about 100 kB."""
    random, (height, width) = np.random.default_rng(seed), SHAPE
    total = np.full((height, width, 3), 128.0)
    for octave in range(8):
        coarse = random.normal(0, 2.0**octave, (3, height >> octave, width >> octave))
        layers = [Image.fromarray(layer.astype(np.float32)) for layer in coarse]
        smooth = [
            np.asarray(layer.resize((width, height), Image.Resampling.BICUBIC)) for layer in layers
        ]
        total += np.stack(smooth, axis=2)
    Image.fromarray(total.clip(0, 255).astype(np.uint8)).save(path, quality=95)
    return str(path)
