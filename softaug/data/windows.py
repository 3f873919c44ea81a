"""Windows of image files: drawn from the sizes in their heads, then only they are decoded."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn, ParamSpec, TypeVar

import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.data.decoding import decoder
from softaug.data.image_file import ImageFile, open_image
from softaug.draws import DrawKey
from softaug.transforms.windows import WindowCrop, WindowParams, visible_part

Args = ParamSpec("Args")
Result = TypeVar("Result")


class WindowBatch(NamedTuple):
    """Windows of the files that could be read, in their order."""

    images: Tensor  # [n, 3, size, size] uint8
    params: WindowParams  # of these n
    rows: Tensor  # [n] int64, their places among the files that were asked for
    unreadable: tuple[str, ...]  # "PATH: reason" for each that was skipped


class Part(NamedTuple):
    """What is visible of a window, [3, h, w], the window's corners, and the part's place (x, y)."""

    pixels: Tensor
    corners: list[int]
    place: tuple[int, int]


def read_windows(paths: Sequence[str], crop: WindowCrop, key: DrawKey, skip: bool) -> WindowBatch:
    """One window of each file; `key.index` belongs to `paths`.

    A file that cannot be read is refused by name, or skipped; no other's window changes.
    """
    _check_index(key, len(paths))
    tries = Tries(paths, skip)
    files = {row: tries(row, open_image, path) for row, path in enumerate(paths)}
    opened = {row: file for row, file in files.items() if file is not None}
    params = _draw(opened, crop, key)
    images = torch.empty(len(opened), 3, crop.size, crop.size, dtype=torch.uint8)
    batch = images.numpy()
    kept: list[int] = []
    for place, (row, corners) in enumerate(zip(opened, params.boxes.tolist(), strict=True)):
        part = tries(row, decode_part, opened[row], corners, crop.size)
        if part is not None:
            # Into other strides, numpy copies in two thirds of torch's time.
            batch[len(kept)] = crop.resize(*part).numpy()
            kept.append(place)
    tries.check(len(kept))
    rows = torch.tensor(list(opened), dtype=torch.int64)[kept]
    drawn = WindowParams(*(values[kept] for values in params))
    return WindowBatch(images[: len(kept)], drawn, rows, tries.reasons())


class Tries:
    """Work on files of which some may be broken: they are refused by name, or remembered."""

    def __init__(self, paths: Sequence[str], skip: bool) -> None:
        self._paths, self._skip = paths, skip
        self._broken: dict[int, Exception] = {}

    def __call__(
        self, row: int, work: Callable[Args, Result], *args: Args.args, **options: Args.kwargs
    ) -> Result | None:
        """What `work` gives, or None."""
        try:
            return work(*args, **options)
        except MemoryError:  # not the file's fault
            raise
        except Exception as broken:  # what a broken file raises depends on its format
            if not self._skip:
                refuse_file(self._paths[row], broken)
            self._broken[row] = broken
            return None

    def reasons(self) -> tuple[str, ...]:
        return tuple(f"{self._paths[row]}: {self._broken[row]}" for row in sorted(self._broken))

    def check(self, num_read: int) -> None:
        """Refuse a batch of which nothing could be read."""
        if self._broken and not num_read:
            rule = f"some of {len(self._broken)} files must be images that can be read"
            refuse("folder", rule, "; ".join(self.reasons()))


def refuse_file(path: str, reason: Exception) -> NoReturn:
    """Refuse a file by name."""
    refuse("folder", f"{path} must be an image that can be read", reason)


def decode_part(file: ImageFile, corners: list[int], size: int) -> Part:
    """What the window with these corners shows of a file, to be resized to size x size.

    A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if the window keeps twice `size` pixels
    on each edge; its corners are then rounded, by a quarter of a pixel of the result at most.
    """
    left, top, right, bottom = corners
    scale = jpeg_scale(file, min(right - left, bottom - top), size)
    height, width = -(-file.height // scale), -(-file.width // scale)
    corners = [round(corner / scale) for corner in corners]
    # Rounded, the last pixel of an image must not leave the window.
    corners[0], corners[1] = min(corners[0], width - 1), min(corners[1], height - 1)
    corners[2], corners[3] = max(corners[2], 1), max(corners[3], 1)
    box = visible_part(corners, height, width)
    return Part(decoder()(file, box, scale), corners, box[:2])


def jpeg_scale(file: ImageFile, edge: int, size: int) -> int:
    """How many times smaller a JPEG can be decoded so that `edge` keeps twice `size` pixels.

    1, 2, 4 or 8; always 1 for other files.
    """
    if not file.is_jpeg or edge < 4 * size:
        return 1
    most = min(edge, file.height, file.width) // (2 * size)
    return max((scale for scale in (2, 4, 8) if scale <= most), default=1)


def _draw(files: Mapping[int, ImageFile], crop: WindowCrop, key: DrawKey) -> WindowParams:
    heights = torch.tensor([file.height for file in files.values()], dtype=torch.int64)
    widths = torch.tensor([file.width for file in files.values()], dtype=torch.int64)
    index = torch.as_tensor(key.index)[list(files)]
    return crop.draw_for(heights, widths, key._replace(index=index))


def _check_index(key: DrawKey, num: int) -> None:
    shape = torch.as_tensor(key.index).shape
    if shape != (num,):
        refuse("folder", f"key.index must hold a number for each of {num} files", list(shape))
