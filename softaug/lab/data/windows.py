"""Windows of image files: drawn from the sizes in their heads, then only they are decoded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.lab.data.decoding import Decode, decoder
from softaug.lab.data.jpeg import FileMemory, ImageFile, describe
from softaug.transforms.windows import WindowCrop, WindowParams, visible_part

MOST_BYTES = 64 * 2**20  # of files that are open at a time: 600 of ImageNet's
MOST_LISTED = 20
REMEDY = (
    "`softaug data folder:PATH --decode` names all that cannot: remove them, or choose a batch so "
    "large that each process gets others too"
)
_memory = FileMemory()
Args = ParamSpec("Args")
Result = TypeVar("Result")


class WindowBatch(NamedTuple):
    """Windows of the files that could be read, in their order."""

    images: Tensor  # [n, 3, size, size] uint8
    params: WindowParams  # of these n
    rows: Tensor  # [n] int64, their places among the files that were asked for
    unreadable: tuple[str, ...]  # "PATH: reason" for each that was skipped


class Part(NamedTuple):
    """What `WindowCrop.resize` takes: what is visible of a window, its corners, the part's place.

    Corners and place are in the image, as large as that was decoded.
    """

    pixels: Tensor  # [3, h, w] uint8, colours side by side in memory
    corners: list[int]
    place: tuple[int, int]  # x, y


def read_windows(paths: Sequence[str], crop: WindowCrop, key: DrawKey, skip: bool) -> WindowBatch:
    """One window of each file; `key.index` belongs to `paths`.

    A file that cannot be read is refused by name, or skipped; no other's window changes.
    """
    index = _check_index(key, len(paths))
    decode, errors = decoder(), ReadErrors(paths, skip)
    # In memory as windows are resized; NumPy asks for large pages, which are there sooner.
    memory = np.empty((len(paths), crop.size, crop.size, 3), np.uint8)
    batch = torch.from_numpy(memory).permute(0, 3, 1, 2)
    rows: list[int] = []
    drawn: list[list[Tensor]] = []
    for opened in _stretches(paths, errors):
        params = _draw(opened, crop, key._replace(index=index[list(opened)]))
        kept = []
        for place, (row, corners) in enumerate(zip(opened, params.boxes.tolist(), strict=True)):
            part = errors.attempt(row, decode_part, decode, opened[row], corners, crop.size)
            if part is not None:
                crop.resize(*part, batch[len(rows)])
                rows.append(row)
                kept.append(place)
        drawn.append([values[kept] for values in params])
    errors.check(len(rows))
    params = WindowParams(*map(torch.cat, zip(*drawn, strict=True)))
    return WindowBatch(batch[: len(rows)], params, torch.tensor(rows), errors.reasons())


def _stretches(paths: Sequence[str], errors: "ReadErrors") -> Iterator[dict[int, ImageFile]]:
    """The files that can be opened, by row; so many at a time that their bytes fit in memory."""
    opened: dict[int, ImageFile] = {}
    num_bytes = 0
    _memory.clear()
    for row, path in enumerate(paths):
        file = errors.attempt(row, _open, path)
        if file is not None:
            opened[row] = file
            num_bytes += len(file.data)
        if num_bytes > MOST_BYTES:
            yield opened
            opened, num_bytes = {}, 0
            _memory.clear()
    if opened:
        yield opened


def _open(path: str) -> ImageFile:
    return describe(_memory.read(path))


class ReadErrors:
    """Work on files of which some may be broken: they are refused by name, or remembered."""

    def __init__(self, paths: Sequence[str], skip: bool) -> None:
        self._paths, self._skip = paths, skip
        self._broken: dict[int, Exception] = {}

    def attempt(
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
            refuse("folder", rule, format_list(self.reasons()), REMEDY)


def format_list(reasons: tuple[str, ...]) -> str:
    """The first of them, as many as one reads."""
    return "; ".join([*reasons[:MOST_LISTED], *(["..."] if len(reasons) > MOST_LISTED else [])])


def refuse_file(path: str, reason: Exception) -> NoReturn:
    """Refuse a file by name."""
    refuse("folder", f"{path} must be an image that can be read", reason)


def decode_part(decode: Decode, file: ImageFile, corners: list[int], size: int) -> Part:
    """What the window with these corners shows of a file, to be resized to size x size.

    A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if the window keeps twice `size` pixels
    on each edge; its corners are then rounded, by a quarter of a pixel of the result at most.
    """
    left, top, right, bottom = corners
    scale = choose_jpeg_scale(file, min(right - left, bottom - top), size)
    height, width = -(-file.height // scale), -(-file.width // scale)
    corners = [round(corner / scale) for corner in corners]
    # Rounded, the last pixel of an image must not leave the window.
    corners[0], corners[1] = min(corners[0], width - 1), min(corners[1], height - 1)
    corners[2], corners[3] = max(corners[2], 1), max(corners[3], 1)
    box = visible_part(corners, height, width)
    pixels = torch.from_numpy(decode(file, box, scale)).permute(2, 0, 1)
    return Part(pixels, corners, box[:2])


def choose_jpeg_scale(file: ImageFile, edge: int, size: int) -> int:
    """How many times smaller a JPEG can be decoded so that `edge` keeps twice `size` pixels.

    1, 2, 4 or 8; always 1 for other files, and for those that are turned: what is rounded up
    at an edge would move to the other one.
    """
    if not file.is_jpeg or file.turned or edge < 4 * size:
        return 1
    most = min(edge, file.height, file.width) // (2 * size)
    return max((scale for scale in (2, 4, 8) if scale <= most), default=1)


def _draw(files: Mapping[int, ImageFile], crop: WindowCrop, key: DrawKey) -> WindowParams:
    heights = torch.tensor([file.height for file in files.values()], dtype=torch.int64)
    widths = torch.tensor([file.width for file in files.values()], dtype=torch.int64)
    return crop.draw_for(heights, widths, key)


def _check_index(key: DrawKey, num: int) -> Tensor:
    index = torch.as_tensor(key.index)
    if index.shape != (num,):
        refuse("folder", f"key.index must hold a number for each of {num} files", list(index.shape))
    return index
