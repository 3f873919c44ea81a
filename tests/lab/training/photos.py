"""A small data set of photographs: JPEG files of several sizes, a colour for each class."""

from pathlib import Path

import numpy as np
from PIL import Image

SIZES = [(60, 45), (48, 64), (80, 80), (33, 51)]  # width, height
COLOURS = {"n00000001": (200, 60, 60), "n00000002": (60, 200, 60), "n00000003": (60, 60, 200)}


def write_photos(root: Path, num_train: int = 8, num_val: int = 4) -> list[Path]:
    """root/{train,val}/CLASS/*.jpg, so many for each class; the files in order."""
    noise, files = np.random.default_rng(0), []
    for part, num in (("train", num_train), ("val", num_val)):
        for name, colour in COLOURS.items():
            folder = root / part / name
            folder.mkdir(parents=True)
            for place in range(num):
                width, height = SIZES[place % len(SIZES)]
                pixels = np.array(colour) + noise.normal(0, 40, (height, width, 1))
                file = folder / f"{place:03}.jpg"
                Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, quality=90)
                files.append(file)
    return files
