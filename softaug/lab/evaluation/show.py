"""`softaug show`: what a recipe's augmentation does to one's own images."""

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import torch
import tyro
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.draws import DrawKey
from softaug.lab.data.datasets import FOLDER, find_dataset
from softaug.lab.data.decoding import open_image, open_upright, to_tensor
from softaug.lab.data.folder import read_image
from softaug.lab.data.images import IMAGENET_MEAN
from softaug.lab.data.windows import refuse_file
from softaug.lab.recipes.augment import (
    WINDOWS,
    Augment,
    Crop,
    NormalOffsets,
    NormalWindows,
    UniformOffsets,
)
from softaug.lab.recipes.config import DataSpec, Recipe
from softaug.lab.training.augmentation import AnyTransform, build_transforms, scheduled
from softaug.lab.training.command import read_recipe
from softaug.label import SoftLabel
from softaug.softening import confidence


class Version(NamedTuple):
    """An augmented image, the share of it that is visible, and what its label says."""

    image: Tensor  # [3, H, W] uint8
    visible: float
    retained: float
    confidence: float  # 1 where the loss takes labels as hard


def draw_versions(
    images: Iterable[Tensor], recipe: Recipe, size: int, *, draws: int, seed: int, num_classes: int
) -> list[list[Version]]:
    """For each of the images [3, H, W] what the first `draws` epochs of training see of it.

    Each is drawn by itself, at its own size; windows are resized to `size`. Borders of the
    data's mean colour have ImageNet's, as in training on a folder of files.
    """
    first = scheduled(recipe.augment, 0, recipe.epochs)
    transforms = build_transforms(first, [255 * mean for mean in IMAGENET_MEAN], size)
    chance = None if recipe.loss.soften == "none" else num_classes
    return [
        [
            _version(transforms, image, DrawKey(seed, epoch, torch.tensor([place])), chance)
            for epoch in range(draws)
        ]
        for place, image in enumerate(images)
    ]


def _version(
    transforms: Sequence[AnyTransform], image: Tensor, key: DrawKey, num_classes: int | None
) -> Version:
    """One draw; without a number of classes the label stays hard."""
    changed, visible, kept = augmented(transforms, image[None], key)
    sure = 1.0 if num_classes is None else float(confidence(kept, num_classes))
    return Version(changed[0], float(visible), float(kept), sure)


def augmented(
    transforms: Sequence[AnyTransform], images: Tensor, key: DrawKey
) -> tuple[Tensor, Tensor, Tensor]:
    """The images after the transforms, and of each the visible and the retained share, [N].

    The same images and labels as in training, which keeps no visible share.
    """
    label = SoftLabel(torch.zeros(len(images), dtype=torch.long), torch.ones(len(images)))
    visible = torch.ones(len(images), dtype=torch.float64)
    for transform in transforms:
        params = transform.draw(images, key=key)
        images, label = transform.apply(images, params), transform.report(label, params)
        visible = visible * params.visible
    assert isinstance(label.retained, Tensor)
    return images, visible, label.retained


INK, MUTED, GRID, PAPER, ACCENT = "#1c2024", "#5b626a", "#d9dad5", "#fcfcfa", "#00775a"
DPI = 160
EDGE, GAP, TEXT = 1.3, 0.16, 0.7  # inches: an image, what is between two, what is under it
MARGIN, HEAD, APART = 0.25, 0.72, 0.2  # inches: around all, above all, original to versions
HEAD_WIDTH = 7.4  # inches: the longest description has room
ACROSS = 8  # versions in a line; more go into the next
MOST_LINES = 150  # an image of more than 65,535 pixels cannot be drawn
LETTERS = 18  # of a file's name, which fit under its image


@dataclass(frozen=True)
class Row:
    """An image, how it is called, and its versions."""

    name: str
    original: Tensor  # [3, H, W] uint8
    versions: Sequence[Version]


def num_lines(draws: int) -> int:
    """Lines of versions that an image takes."""
    return math.ceil(draws / ACROSS)


def draw_picture(rows: Sequence[Row], title: str, about: str, ending: str) -> bytes:
    """The content of a PNG or SVG file, by `ending`; the same bytes for the same rows."""
    canvas = Canvas(rows)
    with rc_context({"svg.hashsalt": "softaug", "font.family": "DejaVu Sans"}):
        canvas.write_head(title, about)
        line = 0
        for row in rows:
            canvas.draw_row(row, line)
            line += num_lines(len(row.versions))
        return canvas.content(ending)


class Canvas:
    """A figure that is measured in inches from its top left corner."""

    def __init__(self, rows: Sequence[Row]) -> None:
        across = max(min(len(row.versions), ACROSS) for row in rows)
        lines = sum(num_lines(len(row.versions)) for row in rows)
        self.width = max(2 * MARGIN + EDGE + APART + across * (EDGE + GAP), HEAD_WIDTH)
        self.height = HEAD + lines * (EDGE + TEXT) + MARGIN / 2
        self.figure = Figure(figsize=(self.width, self.height), dpi=DPI, facecolor=PAPER)

    def write_head(self, title: str, about: str) -> None:
        """The title, and under it what was done."""
        self._write(title, 0.2, color=INK, fontsize=12, weight="bold")
        self._write(about, 0.43, color=MUTED, fontsize=8.5)

    def draw_row(self, row: Row, line: int) -> None:
        """The original at the left, the versions beside it."""
        draw_original(self._axes(line, MARGIN), row)
        start = MARGIN + EDGE + APART + GAP
        for place, version in enumerate(row.versions):
            down, across = divmod(place, ACROSS)
            draw_version(self._axes(line + down, start + across * (EDGE + GAP)), version)

    def content(self, ending: str) -> bytes:
        """The picture as a file holds it."""
        packed = io.BytesIO()
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        self.figure.savefig(packed, format=ending, metadata=metadata)
        return packed.getvalue()

    def _write(self, text: str, down: float, **style: Any) -> None:
        place = (MARGIN / self.width, 1 - down / self.height)
        self.figure.text(*place, text, va="top", parse_math=False, **style)

    def _axes(self, line: int, left: float) -> Axes:
        bottom = self.height - HEAD - line * (EDGE + TEXT) - EDGE
        box = (left / self.width, bottom / self.height, EDGE / self.width, EDGE / self.height)
        axes: Axes = self.figure.add_axes(box)
        return axes


def draw_original(axes: Axes, row: Row) -> None:
    """The image with its name."""
    _draw_image(axes, row.original, INK)
    _write_under(axes, -8, shorten(row.name), color=INK)
    _write_under(axes, -20, "original", color=MUTED)


def draw_version(axes: Axes, version: Version) -> None:
    """The image, a bar as long as its label is sure, and the numbers."""
    _draw_image(axes, version.image, GRID)
    bar: dict[str, Any] = {
        "transform": axes.transAxes,
        "clip_on": False,
        "solid_capstyle": "butt",
        "linewidth": 3,
    }
    axes.plot([0, 1], [-0.035, -0.035], color=GRID, **bar)
    axes.plot([0, version.confidence], [-0.035, -0.035], color=ACCENT, **bar)
    _write_under(axes, -8, f"confidence {version.confidence:.2f}", color=INK, weight="bold")
    _write_under(axes, -20, f"visible {100 * version.visible:.0f} %", color=MUTED)
    _write_under(axes, -31, f"retained {version.retained:.2f}", color=MUTED)


def _draw_image(axes: Axes, image: Tensor, frame: str) -> None:
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(image.permute(1, 2, 0).numpy(), extent=centred(*image.shape[1:]))
    axes.set(xticks=[], yticks=[], xlim=limits[0], ylim=limits[1])
    axes.spines[:].set(color=frame, linewidth=0.8)


def centred(height: int, width: int) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of an image of this shape in a square of edge 1.

    >>> centred(224, 224), centred(200, 400)
    ((0.0, 1.0, 0.0, 1.0), (0.0, 1.0, 0.25, 0.75))
    """
    x, y = ((1 - edge / max(height, width)) / 2 for edge in (width, height))
    return x, 1 - x, y, 1 - y


def _write_under(axes: Axes, points: float, text: str, **style: Any) -> None:
    where: dict[str, Any] = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "va": "top",
    }
    # A name may hold two dollar signs.
    axes.annotate(text, (0, 0), (0, points), **where, fontsize=8, parse_math=False, **style)


def shorten(name: str) -> str:
    """A name that fits under its image: both ends stay, which tell files apart.

    >>> shorten("n02085782_Japanese_spaniel.JPEG")
    'n020857…aniel.JPEG'
    """
    return name if len(name) <= LETTERS else f"{name[:7]}…{name[-(LETTERS - 8) :]}"


LABELS = {
    "none": "hard labels",
    "target": "soft targets",
    "weight": "soft weights",
    "both": "soft targets and weights",
}


def describe_augment(recipe: Recipe, size: int) -> str:
    """What is done to images of edge `size` and to their labels.

    >>> from softaug.lab.recipes import find
    >>> describe_augment(find("cifar100-resnet18-soft").recipe, 32)
    'flip, crop (offsets normal, sd 0.3 edges; k = 2), soft targets and weights'
    >>> describe_augment(find("cifar100-resnet18-mixup").recipe, 32)
    'flip, crop (offsets up to 4 of 32 pixels; k = 2), mixup (not drawn), hard labels'
    """
    words = _step_words(recipe.augment, size)
    steps = [words[step] for step in recipe.augment.order if words[step]]
    mixed = [] if recipe.mix.kind == "none" else [f"{recipe.mix.kind} (not drawn)"]
    return ", ".join([*steps, *mixed, LABELS[recipe.loss.soften]])


def _step_words(augment: Augment, size: int) -> dict[str, str]:
    noise, cutout = augment.noise, augment.cutout
    curves = "" if augment.curves is None else f" ({augment.curves} curves)"
    return {
        "policy": "" if augment.policy == "none" else augment.policy + curves,
        "flip": "flip" if augment.flip else "",
        "crop": f"crop ({_crop_words(augment.crop, size)}{_k(augment.crop.k)}{_pace(augment)})",
        "noise": f"noise (sd {noise.sigma * noise.noise_sd:g}{_k(noise.k)})" if noise.sigma else "",
        "cutout": f"cutout ({cutout.length} pixels{_k(cutout.k)})" if cutout.length else "",
    }


def _pace(augment: Augment) -> str:
    pace = augment.pace
    own = "" if pace.by == "all" else f", each {pace.by} its own"
    return f"; at first, then paced by {pace.rule}{own}" if pace.on else ""


def _crop_words(crop: Crop, size: int) -> str:
    if isinstance(crop, NormalOffsets):
        return f"offsets normal, sd {crop.sigma:g} edges"
    if isinstance(crop, UniformOffsets):
        return f"offsets up to {crop.max_shift} of {size} pixels"
    if isinstance(crop, NormalWindows):
        return f"windows of normal size and place, sigma {crop.sigma:g}{_window_options(crop)}"
    least, most = crop.scale
    return f"windows of {100 * least:g} to {100 * most:g} % of the image"


def _window_options(crop: NormalWindows) -> str:
    """What is not as usual."""
    usual = NormalWindows()
    names = ("min_size", "offsets", "relative_to", "share_of", "antialias")
    changed = [name for name in names if getattr(crop, name) != getattr(usual, name)]
    return "".join(f", {name} {getattr(crop, name)}" for name in changed)


def _k(k: float | None) -> str:
    return "; labels whole" if k is None else f"; k = {k:g}"


WHO = "show"
ENDINGS = ("png", "svg")


def show(
    what: Annotated[Literal["transforms"], tyro.conf.Positional],
    images: Annotated[tuple[Path, ...], tyro.conf.Positional],
    recipe: str = "cifar100-resnet18-soft",
    draws: int = 8,
    size: int = 224,
    seed: int = 0,
    classes: int | None = None,
    out: Path = Path("soft-transforms.png"),
) -> None:
    """Draw what a recipe's augmentation does to your images, and how sure their labels stay.

    Args:
        what: The one thing there is to show.
        images: Image files, a row of the picture for each.
        recipe: A name that `softaug recipes` lists, or a recipe.json.
        draws: Augmented versions of each image.
        size: Edge in pixels that images are brought to, as in training on a folder; offsets in
            pixels (the usual crop's) are pixels of this. CIFAR's is 32. Windows are drawn on
            the whole image and resized to it.
        seed: Another one draws other versions; the same draws the same picture.
        classes: Number of classes; chance is 1 of them (default: those of the recipe's data).
        out: The picture, .png or .svg.
    """
    check_choice(WHO, "what", what, ("transforms",))
    chosen = read_recipe(recipe)
    if not isinstance(chosen, Recipe):
        remedy = "softaug.transforms.TwoViews makes its two views"
        refuse(WHO, "the recipe must learn from labels", chosen.name, remedy)
    num_classes = count_classes(chosen.data) if classes is None else classes
    made = show_transforms(
        images, chosen, out, draws=draws, size=size, seed=seed, num_classes=num_classes
    )
    print(made)


def count_classes(data: DataSpec) -> int:
    """The number of classes of a recipe's data set; a folder's are counted.

    >>> count_classes(DataSpec("cifar100")), count_classes(DataSpec("cifar100", "coarse"))
    (100, 20)
    """
    if num_classes := find_dataset(WHO, data.name).num_classes:
        return num_classes[data.labels]
    root = Path(data.name.removeprefix(FOLDER)).expanduser()
    top = root / "train" if (root / "train").is_dir() else root
    if not top.is_dir():
        refuse(WHO, f"{top} must be a folder", "no such folder", "or give --classes")
    return sum(one.is_dir() and not one.name.startswith(".") for one in top.iterdir())


def show_transforms(
    images: Sequence[Path],
    recipe: Recipe,
    out: Path,
    *,
    draws: int = 8,
    size: int = 224,
    seed: int = 0,
    num_classes: int = 100,
) -> Path:
    """Draw each image beside `draws` augmented versions of it into `out`, a PNG or SVG file.

    Under each version: the confidence of its label, the visible share, and what is retained.
    """
    _check_numbers(draws, size, seed, num_classes)
    _check_count(len(images), draws)
    ending = _ending(out)
    cut = None if isinstance(recipe.augment.crop, WINDOWS) else size
    originals = [_read(path, cut) for path in images]
    versions = draw_versions(
        originals, recipe, size, draws=draws, seed=seed, num_classes=num_classes
    )
    parts = zip(images, originals, versions, strict=True)
    rows = [Row(path.name, original, found) for path, original, found in parts]
    about = f"{describe_augment(recipe, size)}; {num_classes} classes, seed {seed}"
    return _write(draw_picture(rows, recipe.name, about, ending), out)


def _check_numbers(draws: int, size: int, seed: int, num_classes: int) -> None:
    check_whole(WHO, "draws", draws, least=1)
    check_whole(WHO, "size", size, least=8)
    check_whole(WHO, "seed", seed, least=0)
    check_whole(WHO, "classes", num_classes, least=2)


def _check_count(images: int, draws: int) -> None:
    if not images:
        refuse(WHO, "at least one image must be given", "none", "name image files")
    if images * num_lines(draws) > MOST_LINES:
        rule = f"a picture has at most {MOST_LINES} lines of versions"
        remedy = "give fewer images or draws"
        refuse(WHO, rule, f"{images} images of {num_lines(draws)}", remedy)


def _ending(out: Path) -> str:
    ending = out.suffix.lower().removeprefix(".")
    check_choice(WHO, "the ending of out", ending, ENDINGS)
    return ending


def _read(path: Path, cut: int | None) -> Tensor:
    """The image's centre, cut x cut, or all of it."""
    if not path.is_file():
        got = "a folder" if path.is_dir() else "no such file"
        refuse(WHO, f"{path} must be an image file", got)
    try:
        return _whole(str(path)) if cut is None else read_image(str(path), cut)
    except ValueError as refused:  # the reader speaks of folders
        raise ValueError(f"{WHO}: {str(refused).removeprefix('folder: ')}") from None


def _whole(path: str) -> Tensor:
    try:
        return to_tensor(open_upright(open_image(path)))
    except Exception as broken:  # what a broken file raises depends on its format
        refuse_file(path, broken)


def _write(content: bytes, out: Path) -> Path:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except OSError as failed:
        refuse(WHO, f"{out} must be a file that can be written", failed.strerror)
    return out
