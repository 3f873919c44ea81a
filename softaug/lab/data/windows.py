"""Windows of image files: drawn from the sizes in their headers, then only they are decoded."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.lab.data.decoding import Decode, ImageFile, get_decoder, parse_image
from softaug.transforms.windows import WindowCrop, WindowParams, visible_part

MAX_OPEN_BYTES = 64 * 2**20  # of files in memory at a time: 600 of ImageNet's
BLOCK = 8 * 2**20  # bytes of a buffer
MAX_LISTED = 20
REMEDY = (
    "`softaug data folder:PATH --decode` names all that cannot: remove them, or choose a batch so "
    "large that each process gets others too"
)
Args = ParamSpec("Args")
Result = TypeVar("Result")


class WindowBatch(NamedTuple):
    """Windows of the files that could be read, in their order."""

    images: Tensor  # [n, 3, size, size] uint8
    params: WindowParams  # of these n
    rows: Tensor  # [n] int64, their places among the files that were asked for
    unreadable: tuple[str, ...]  # "PATH: reason" for each that was skipped


class Part(NamedTuple):
    """The arguments of `WindowCrop.resize`, in pixels of the image as large as it was decoded."""

    pixels: Tensor  # [3, h, w] uint8, what is visible of the window, channels last in memory
    corners: list[int]  # of the window
    offset: tuple[int, int]  # x, y of the visible part


def read_windows(paths: Sequence[str], crop: WindowCrop, key: DrawKey, skip: bool) -> WindowBatch:
    """Read one window of each file; `key.index` belongs to `paths`.

    A file that cannot be read is refused by name, or skipped; no other window changes.
    """
    index = torch.as_tensor(key.index)
    if index.shape != (len(paths),):
        rule = f"key.index must hold a number for each of {len(paths)} files"
        refuse("folder", rule, list(index.shape))
    decode, errors = get_decoder(), ReadErrors(paths, skip)
    # Channels last, as windows are resized; NumPy asks for large pages, which are there sooner.
    memory = np.empty((len(paths), crop.size, crop.size, 3), np.uint8)
    batch = torch.from_numpy(memory).permute(0, 3, 1, 2)
    rows: list[int] = []
    drawn: list[list[Tensor]] = []
    for files in _open_in_groups(paths, errors):
        params = _draw(files, crop, key._replace(index=index[list(files)]))
        decoded = []
        for number, (row, corners) in enumerate(zip(files, params.boxes.tolist(), strict=True)):
            part = errors.attempt(row, decode_part, decode, files[row], corners, crop.size)
            if part is not None:
                crop.resize(*part, batch[len(rows)])
                rows.append(row)
                decoded.append(number)
        drawn.append([values[decoded] for values in params])
    errors.refuse_empty(len(rows))
    params = WindowParams(*map(torch.cat, zip(*drawn, strict=True)))
    return WindowBatch(batch[: len(rows)], params, torch.tensor(rows), errors.reasons())


def _open_in_groups(paths: Sequence[str], errors: "ReadErrors") -> Iterator[dict[int, ImageFile]]:
    """Yield the files that can be opened, by row; as many at a time as fit in memory."""
    files: dict[int, ImageFile] = {}
    num_bytes = 0
    _buffer.clear()
    for row, path in enumerate(paths):
        file = errors.attempt(row, _open, path)
        if file is not None:
            files[row] = file
            num_bytes += len(file.data)
        if num_bytes > MAX_OPEN_BYTES:
            yield files
            files, num_bytes = {}, 0
            _buffer.clear()
    if files:
        yield files


def _open(path: str) -> ImageFile:
    return parse_image(_buffer.read(path))


def _draw(files: Mapping[int, ImageFile], crop: WindowCrop, key: DrawKey) -> WindowParams:
    heights = torch.tensor([file.height for file in files.values()], dtype=torch.int64)
    widths = torch.tensor([file.width for file in files.values()], dtype=torch.int64)
    return crop.draw_for(heights, widths, key)


class ReadErrors:
    """Collects the errors of broken files, or refuses the first of them by name."""

    def __init__(self, paths: Sequence[str], skip: bool) -> None:
        self._paths, self._skip = paths, skip
        self._errors: dict[int, Exception] = {}

    def attempt(
        self, row: int, read: Callable[Args, Result], *args: Args.args, **options: Args.kwargs
    ) -> Result | None:
        """Return what `read` returns, or None for a broken file."""
        try:
            return read(*args, **options)
        except MemoryError:  # not the file's fault
            raise
        except Exception as error:  # what a broken file raises depends on its format
            if not self._skip:
                refuse_file(self._paths[row], error)
            self._errors[row] = error
            return None

    def reasons(self) -> tuple[str, ...]:
        """List the broken files, each "PATH: reason"."""
        return tuple(f"{self._paths[row]}: {self._errors[row]}" for row in sorted(self._errors))

    def refuse_empty(self, num_read: int) -> None:
        """Refuse a batch of which nothing could be read."""
        if self._errors and not num_read:
            rule = f"some of {len(self._errors)} files must be images that can be read"
            refuse("folder", rule, format_list(self.reasons()), REMEDY)


def format_list(reasons: tuple[str, ...]) -> str:
    """Join the first `MAX_LISTED` reasons."""
    return "; ".join([*reasons[:MAX_LISTED], *(["..."] if len(reasons) > MAX_LISTED else [])])


def refuse_file(path: str, reason: Exception) -> NoReturn:
    """Refuse a file by name."""
    refuse("folder", f"{path} must be an image that can be read", reason)


def decode_part(decode: Decode, file: ImageFile, corners: list[int], size: int) -> Part:
    """Decode what the window with these corners shows of a file, to be resized to size x size.

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
    """Choose how many times smaller a JPEG is decoded: `edge` keeps at least twice `size` pixels.

    1, 2, 4 or 8; always 1 for other files, and for those that are turned: what is rounded up at
    an edge would move to the opposite one.
    """
    if not file.is_jpeg or file.turned or edge < 4 * size:
        return 1
    most = min(edge, file.height, file.width) // (2 * size)
    return max((scale for scale in (2, 4, 8) if scale <= most), default=1)


class FileBuffer(threading.local):
    """Memory that files are read into, used again after `clear`; each thread has its own."""

    def __init__(self) -> None:
        self._blocks: list[memoryview] = []
        self.clear()

    def clear(self) -> None:
        """Let the next files overwrite the earlier ones."""
        self._block = self._used = 0

    def read(self, path: str) -> memoryview:
        """Read all bytes of a file."""
        with open(path, "rb", buffering=0) as file:
            buffer = self._allocate(os.fstat(file.fileno()).st_size)
            num = 0
            while read := file.readinto(buffer[num:]):  # of large files it reads a part at a time
                num += read
        return buffer[:num]

    def _allocate(self, size: int) -> memoryview:
        """Return bytes that are not in use."""
        if size > BLOCK:  # too rare to be reused
            return memoryview(bytearray(size))
        if self._used + size > BLOCK:
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._blocks.append(memoryview(bytearray(BLOCK)))
        self._used += size
        return self._blocks[self._block][self._used - size : self._used]


_buffer = FileBuffer()
