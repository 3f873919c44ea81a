"""Suite "input": from JPEG files to a batch of windows, by softaug and by torchvision."""

import os
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from benchmarks.timing import Bound, Row, Table, Timing, Variants, interleave, timing_rows, v2
from softaug import DrawKey, SoftResizedCrop
from softaug.checks import refuse
from softaug.lab.data.decoding import VARIABLE as DECODER
from softaug.lab.data.decoding import is_installed
from softaug.lab.data.windows import read_windows
from softaug.transforms.windows import WindowCrop

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


BASE = "torchvision: decode, v2 resized_crop, stack"
DECODE = "torchvision: decode, nothing else"
OURS = "softaug, nvImageCodec"
PILLOW = "softaug, Pillow"
ALIASED = "softaug, nvImageCodec, antialias=False"
NEEDED = "not installed (pip install 'softaug[photos]')"
SIZE = 224

_io: Any = import_module("torchvision.io")


def input_suite(rounds: int, num: int = 128) -> list[Table]:
    """Soft windows of files, which are read anew each time, as a uint8 batch of 224 x 224."""
    with tempfile.TemporaryDirectory() as made, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*TorchCodec")  # torchvision.io is deprecated
        paths, kind = find_photos(num, Path(made))
        windows = _ours(paths, SoftResizedCrop(SIZE))
        found = windows[OURS if OURS in windows else PILLOW]()  # of the variant that is bounded
        theirs = _theirs(paths, found.params.boxes.tolist())
        difference = _difference(theirs[BASE](), found.images)
        timing = interleave({**theirs, **windows}, rounds)
    title = f"{len(paths)} windows of {SIZE} x {SIZE} (sigma 0.3) of {kind}"
    rows = timing_rows(timing, BASE)
    if OURS not in windows:
        rows += [Row(name, note=NEEDED) for name in (OURS, ALIASED)]
    return [Table(title, BASE, "ms", rows, input_bounds(timing, difference))]


def input_bounds(timing: Timing, difference: float) -> list[Bound]:
    """Faster than torchvision, with nvImageCodec, and the same pictures."""
    same = Bound("mean difference from torchvision's windows in grey levels", difference, 1.5)
    if OURS not in timing.seconds:
        return [same]
    gain = timing.ratio(BASE, OURS).median
    return [Bound("torchvision / softaug with nvImageCodec", gain, 1.4, at_least=True), same]


def _ours(paths: list[str], crop: WindowCrop) -> dict[str, Callable[[], Any]]:
    found = {PILLOW: _with("pillow", paths, crop)}
    if is_installed():
        found[OURS] = _with("nvimgcodec", paths, crop)
        found[ALIASED] = _with("nvimgcodec", paths, SoftResizedCrop(crop.size, antialias=False))
    return found


def _with(decoder: str, paths: list[str], crop: WindowCrop) -> Callable[[], Any]:
    key = DrawKey(0, 0, torch.arange(len(paths)))

    def call() -> Any:
        with patch.dict(os.environ, {DECODER: decoder}):
            return read_windows(paths, crop, key, skip=False)

    return call


def _theirs(paths: list[str], boxes: list[list[int]]) -> Variants:
    """The same windows; drawing them costs nothing here."""
    return {
        BASE: lambda: torch.stack([_window(*pair) for pair in zip(paths, boxes, strict=True)]),
        DECODE: lambda: [_decode(path) for path in paths],
    }


def _decode(path: str) -> Tensor:
    image: Tensor = _io.decode_jpeg(_io.read_file(path), _io.ImageReadMode.RGB)
    return image


def _window(path: str, box: list[int]) -> Tensor:
    left, top, right, bottom = box
    place = top, left, bottom - top, right - left
    cut: Tensor = v2.functional.resized_crop(_decode(path), *place, [SIZE, SIZE], antialias=True)
    return cut


def _difference(first: Any, second: Tensor) -> float:
    return float((first.float() - second.float()).abs().mean())
