"""Windows of image files: drawn from the sizes in their headers, then only they are decoded."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import torch
from torch import Tensor

from softaug.checks import refuse
from softaug.draws import DrawKey
from softaug.lab.data.decoding import Decode, ImageFile, get_decoder, open_image
from softaug.transforms.windows import WindowCrop, WindowParams, visible_part

MAX_OPEN = 32  # files in memory at a time
MAX_LISTED = 20
REMEDY = (
    "`softaug data folder:PATH --decode` names all that cannot: remove them, or choose a batch so "
    "large that each process gets others too"
)
Result = TypeVar("Result")


class WindowBatch(NamedTuple):
    """Windows of the files that could be read, in their order."""

    images: Tensor  # [n, 3, size, size] uint8
    params: WindowParams  # of these n
    rows: Tensor  # [n] int64, their indices among the requested files
    unreadable: tuple[str, ...]  # "PATH: reason" for each that was skipped


class Part(NamedTuple):
    """The arguments of `WindowCrop.resize`, in pixels of the image as large as it was decoded."""

    pixels: Tensor  # [3, h, w] uint8, what is visible of the window, channels last in memory
    corners: list[int]  # of the window
    offset: tuple[int, int]  # x, y of the visible part


def read_windows(
    paths: Sequence[str], crop: WindowCrop, key: DrawKey, skip: bool, labels: Tensor | None = None
) -> WindowBatch:
    """Read one window of each file; `key.index` belongs to `paths`.

    A file that cannot be read is refused by name, or skipped; no other window changes.
    """
    index = torch.as_tensor(key.index)
    if index.shape != (len(paths),):
        rule = f"key.index must hold a number for each of {len(paths)} files"
        refuse("folder", rule, list(index.shape))
    decode, unreadable = get_decoder(), list[str]()
    errors = unreadable if skip else None
    # Channels last, as windows are resized; NumPy asks for large pages, which are there sooner.
    memory = np.empty((len(paths), crop.size, crop.size, 3), np.uint8)
    batch = torch.from_numpy(memory).permute(0, 3, 1, 2)
    rows: list[int] = []
    drawn: list[list[Tensor]] = []
    for start in range(0, len(paths), MAX_OPEN):
        chunk = range(start, min(start + MAX_OPEN, len(paths)))
        opened = {row: try_read(paths[row], errors, open_image, paths[row]) for row in chunk}
        files = {row: file for row, file in opened.items() if file is not None}
        if not files:
            continue
        heights = torch.tensor([file.height for file in files.values()], dtype=torch.int64)
        widths = torch.tensor([file.width for file in files.values()], dtype=torch.int64)
        there = list(files)
        of_rows = None if labels is None else labels[there]
        params = crop.draw_for(heights, widths, key._replace(index=index[there]), of_rows)
        decoded = []
        for number, (row, corners) in enumerate(zip(files, params.boxes.tolist(), strict=True)):
            task = decode, files[row], corners, crop.size
            part = try_read(paths[row], errors, decode_part, *task)
            if part is not None:
                crop.resize(*part, batch[len(rows)])
                rows.append(row)
                decoded.append(number)
        drawn.append([values[decoded] for values in params])
    if not rows:
        rule = f"some of {len(paths)} files must be images that can be read"
        refuse("folder", rule, format_list(unreadable), REMEDY)
    params = WindowParams(*map(torch.cat, zip(*drawn, strict=True)))
    return WindowBatch(batch[: len(rows)], params, torch.tensor(rows), tuple(unreadable))


def try_read(
    path: str, errors: list[str] | None, read: Callable[..., Result], *args: Any
) -> Result | None:
    """Return what `read(*args)` returns, or None for a broken file, which `errors` then name.

    Without `errors` it is refused by name.
    """
    try:
        return read(*args)
    except MemoryError:  # not the file's fault
        raise
    except Exception as error:  # what a broken file raises depends on its format
        if errors is None:
            refuse_file(path, error)
        errors.append(f"{path}: {error}")
        return None


def format_list(reasons: Sequence[str]) -> str:
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
