"""What a data set holds, in a line for each part."""

from pathlib import Path

from PIL import Image
from rich.console import Console

from softaug.checks import refuse
from softaug.data.folder import FolderImages
from softaug.data.image_file import open_image
from softaug.data.images import Images, Source
from softaug.data.load import FOLDER, load
from softaug.data.pillow import upright
from softaug.progress import progress

Size = tuple[int, int]  # width, height


def survey(name: str, console: Console, data_dir: Path | None = None, decode: bool = False) -> None:
    """Print images, classes and sizes of a data set that is not fetched: digits, or folders.

    The head of every file is read, or the whole of it is decoded; those of all parts that are
    no images are named, then refused.
    """
    data, num_wrong = load(name, data_dir), 0
    for part, source in (("train", data.train), ("test", data.test)):
        sizes, wrong = _look(source, console, decode) if source else (set(), [])
        num_wrong += len(wrong)
        line = _line(source, sizes, len(data.class_names)) if source and sizes else "none"
        for told in wrong or [f"{part}: {line}"]:
            console.print(told, soft_wrap=True, markup=False, highlight=False)
    if num_wrong:
        rule = f"files of {name.removeprefix(FOLDER)} must be images"
        refuse("data", rule, f"{num_wrong} that are not", "restore or remove them")


def _line(source: Source, sizes: set[Size], num_classes: int) -> str:
    ordered = sorted(sizes, key=lambda size: (size[0] * size[1], size))
    ends = dict.fromkeys((ordered[0], ordered[-1]))  # one, if all are alike
    pixels = " to ".join(f"{width} x {height}" for width, height in ends)
    counts = source.labels.bincount(minlength=num_classes).tolist()
    each = f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"
    return f"{sum(counts):,} images of {pixels} pixels, {num_classes} classes of {each} images"


def _look(source: Source, console: Console, decode: bool) -> tuple[set[Size], list[str]]:
    """The sizes of the images, and a line for each file that is none."""
    if isinstance(source, FolderImages):
        return _look_at_files(source, console, decode)
    assert isinstance(source, Images)
    return {(source.images.shape[3], source.images.shape[2])}, []


def _look_at_files(
    source: FolderImages, console: Console, decode: bool
) -> tuple[set[Size], list[str]]:
    look = _decoded_size if decode else _size_in_head
    sizes, num, wrong = set(), len(source.files), []
    with progress(console, num, "files") as show:
        for number in range(num):
            try:
                sizes.add(look(source.path(number)))
            except Exception as broken:  # what a broken file raises depends on its format
                wrong.append(f"WRONG: {source.path(number)}, {broken}")
            show(number + 1, f"{source.root}: {25 * (4 * (number + 1) // num)} % read")
    return sizes, wrong


def _size_in_head(path: str) -> Size:
    with Image.open(path) as image:
        width, height = image.size
    return width, height


def _decoded_size(path: str) -> Size:
    """The size of the image as it is looked at; Pillow decodes all of it."""
    image = upright(open_image(path))
    image.load()
    return image.size
