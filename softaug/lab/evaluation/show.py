"""`softaug show`: what a recipe's augmentation does to one's own images."""

import io
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
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
from softaug.lab.data.folder import list_subfolders, read_image
from softaug.lab.data.images import IMAGENET_MEAN
from softaug.lab.recipes.augment import WINDOWS
from softaug.lab.recipes.config import DataSpec, Recipe
from softaug.lab.training.augmentation import AnyTransform, build_transforms, scheduled
from softaug.lab.training.command import find_recipe
from softaug.label import SoftLabel
from softaug.softening import confidence

WHO = "show"
MAX_SMALL = 64  # pixels: the short edge of images that are no photographs


class Version(NamedTuple):
    """An augmented image, the share of it that is visible, and what its label says."""

    image: Tensor  # [3, H, W] uint8
    visible: float
    retained: float
    confidence: float  # 1 where the loss takes labels as hard


def draw_versions(
    images: Iterable[Tensor], recipe: Recipe, size: int, *, draws: int, seed: int, num_classes: int
) -> list[list[Version]]:
    """Draw for each of the images [3, H, W] what the first `draws` epochs of training see of it.

    Each is drawn by itself, at its own size; windows are resized to `size`. Borders of the
    data's mean color have ImageNet's, as in training on a folder of files.
    """
    transforms = _first_transforms(recipe, size)
    chance = None if recipe.loss.soften == "none" else num_classes
    return [
        [
            _draw_version(transforms, image, DrawKey(seed, epoch, torch.tensor([index])), chance)
            for epoch in range(draws)
        ]
        for index, image in enumerate(images)
    ]


def _first_transforms(recipe: Recipe, size: int) -> tuple[AnyTransform, ...]:
    """Build the transforms as they are in the first epoch."""
    first = scheduled(recipe.augment, 0, recipe.epochs)
    return build_transforms(first, [255 * mean for mean in IMAGENET_MEAN], size)


def _draw_version(
    transforms: Sequence[AnyTransform], image: Tensor, key: DrawKey, num_classes: int | None
) -> Version:
    """Draw the image and label of training, which keeps no visible share.

    Without a number of classes the label stays hard.
    """
    images, visible = image[None], 1.0
    label = SoftLabel(torch.zeros(1, dtype=torch.long), torch.ones(1))
    for transform in transforms:
        params = transform.draw(images, key=key)
        images, label = transform.apply(images, params), transform.report(label, params)
        visible *= float(params.visible)
    share = float(label.retained)
    probability = 1.0 if num_classes is None else float(confidence(share, num_classes))
    return Version(images[0], visible, share, probability)


def describe_augment(recipe: Recipe, size: int) -> str:
    """Return the transforms of the first epoch and the loss, with their settings.

    >>> from softaug.lab.recipes import find
    >>> describe_augment(find("digits-resnet8-soft").recipe, 8)
    "SoftCrop(k=2.0, fill=0, sigma=0.3), SoftLoss(soften='both')"
    """
    parts = [" ".join(repr(transform).split()) for transform in _first_transforms(recipe, size)]
    if recipe.augment.pace.on:
        parts.append(f"paced by {recipe.augment.pace.rule} after the first epoch")
    if recipe.mix.kind != "none":
        parts.append(f"{recipe.mix.kind} (not drawn)")
    return ", ".join([*parts, f"SoftLoss(soften={recipe.loss.soften!r})"])


# The picture

INK, MUTED, GRID, PAPER, ACCENT = "#1c2024", "#5b626a", "#d9dad5", "#fcfcfa", "#00775a"
DPI = 160
EDGE, GAP, TEXT, HEAD = 1.3, 0.16, 0.7, 0.75  # inches: an image, between, under and above them
ACROSS = 8  # versions in a line; more go into the next
MAX_LINES = 150  # an image of more than 65,535 pixels cannot be drawn
WRAP = 140  # letters above five images
LETTERS = 17  # of a file's name, under its image
ENDINGS = ("png", "svg")


class Row(NamedTuple):
    """An image, how it is called, and its versions."""

    name: str
    original: Tensor  # [3, H, W] uint8
    versions: Sequence[Version]


def draw_picture(rows: Sequence[Row], title: str, about: str, ending: str) -> bytes:
    """Draw a PNG or SVG file, by `ending`; its bytes are the same for the same rows."""
    across = max(4, *(min(len(row.versions), ACROSS) for row in rows))
    lines = sum(_count_lines(len(row.versions)) for row in rows)
    head = textwrap.wrap(about, WRAP * (across + 1) // 5)
    above = HEAD + 0.13 * len(head)
    width, height = (across + 1) * (EDGE + GAP) + GAP, above + lines * (EDGE + TEXT)
    with rc_context({"svg.hashsalt": "softaug", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(width, height), dpi=DPI, facecolor=PAPER)
        axes = figure.subplots(lines, across + 1, squeeze=False)
        figure.subplots_adjust(
            left=GAP / width,
            right=1 - GAP / width,
            bottom=TEXT / height,
            top=1 - above / height,
            wspace=GAP / EDGE,
            hspace=TEXT / EDGE,
        )
        figure.text(GAP / width, 1 - 0.2 / height, title, va="top", color=INK, weight="bold")
        figure.text(
            GAP / width, 1 - 0.45 / height, "\n".join(head), va="top", fontsize=7, color=MUTED
        )
        for ax in axes.flat:
            ax.set_axis_off()
        line = 0
        for row in rows:
            _draw_image(axes[line, 0], row.original, f"{shorten(row.name)}\noriginal")
            for index, version in enumerate(row.versions):
                down, aside = divmod(index, ACROSS)
                _draw_panel(axes[line + down, 1 + aside], version)
            line += _count_lines(len(row.versions))
        packed = io.BytesIO()
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(packed, format=ending, metadata=metadata)
    return packed.getvalue()


def shorten(name: str) -> str:
    """Return the end of a name, as much as fits under its image.

    >>> shorten("n02085782_Japanese_spaniel.JPEG")
    '…ese_spaniel.JPEG'
    """
    return name if len(name) <= LETTERS else f"…{name[1 - LETTERS :]}"


def _count_lines(draws: int) -> int:
    """Count the lines of versions that an image takes."""
    return -(-draws // ACROSS)


def _draw_panel(axes: Axes, version: Version) -> None:
    """Draw the image, a bar as long as its label is sure, and the numbers."""
    numbers = f"confidence {version.confidence:.2f}\nvisible {100 * version.visible:.0f} %\n"
    _draw_image(axes, version.image, f"{numbers}retained {version.retained:.2f}")
    bar: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    bar |= {"linewidth": 3, "solid_capstyle": "butt"}
    axes.plot([0, 1], [-0.035, -0.035], color=GRID, **bar)
    axes.plot([0, version.confidence], [-0.035, -0.035], color=ACCENT, **bar)


def _draw_image(axes: Axes, image: Tensor, text: str) -> None:
    axes.imshow(image.permute(1, 2, 0).numpy())
    axes.set_anchor("S")  # so that captions of images of all shapes stand in one line
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 8, "color": INK}
    axes.text(0, -0.08, text, **style, parse_math=False)  # a name may hold two dollar signs


# The command


def show(
    what: Annotated[Literal["transforms"], tyro.conf.Positional],
    images: Annotated[tuple[Path, ...], tyro.conf.Positional],
    recipe: str | None = None,
    draws: int = 8,
    size: int = 224,
    seed: int = 0,
    out: Path = Path("soft-transforms.png"),
) -> None:
    """Draw what a recipe's augmentation does to your images, and how sure their labels stay.

    Args:
        what: The only thing there is to show.
        images: Image files, a row of the picture for each.
        recipe: A name that `softaug recipes` lists, or a recipe.json (default:
            imagenet-resnet50-soft for photographs, cifar100-resnet18-soft for small images).
        draws: Augmented versions of each image.
        size: Edge in pixels that images are brought to, as in training on a folder; offsets in
            pixels (the usual crop's) are pixels of this. CIFAR's is 32. Windows are drawn on
            the whole image and resized to it.
        seed: Another one draws other versions; the same draws the same picture.
        out: The picture, .png or .svg.
    """
    check_choice(WHO, "what", what, ("transforms",))
    chosen = find_recipe(choose_recipe(images) if recipe is None else recipe)
    if not isinstance(chosen, Recipe):
        remedy = "softaug.transforms.TwoViews makes its two views"
        refuse(WHO, "the recipe must learn from labels", chosen.name, remedy)
    path = show_transforms(images, chosen, out, draws=draws, size=size, seed=seed)
    print(f"Recipe: {chosen.name}{'' if recipe else ' (--recipe for another)'}\nPicture: {path}")


def choose_recipe(images: Sequence[Path]) -> str:
    """Return the name of a recipe for images of this size; that of small ones if none can be read.

    >>> choose_recipe([])
    'cifar100-resnet18-soft'
    """
    for path in images[:1]:
        with suppress(Exception):  # `_read` refuses it with the reason
            image = open_image(str(path))
            if min(image.height, image.width) > MAX_SMALL:
                return "imagenet-resnet50-soft"
    return "cifar100-resnet18-soft"


def show_transforms(
    images: Sequence[Path],
    recipe: Recipe,
    out: Path,
    *,
    draws: int = 8,
    size: int = 224,
    seed: int = 0,
) -> Path:
    """Draw each image beside `draws` augmented versions of it into `out`, a PNG or SVG file.

    Under each version: the confidence of its label, the visible share, and what is retained.
    """
    check_whole(WHO, "draws", draws, least=1)
    check_whole(WHO, "size", size, least=8)
    check_whole(WHO, "seed", seed, least=0)
    if not images:
        refuse(WHO, "at least one image must be given", "none", "name image files")
    if (lines := len(images) * _count_lines(draws)) > MAX_LINES:
        rule = f"a picture has at most {MAX_LINES} lines of versions"
        refuse(WHO, rule, lines, "give fewer images or draws")
    ending = out.suffix.lower().removeprefix(".")
    check_choice(WHO, "the ending of out", ending, ENDINGS)
    num_classes = count_classes(recipe.data)
    originals = [_read(path, recipe, size) for path in images]
    versions = draw_versions(
        originals, recipe, size, draws=draws, seed=seed, num_classes=num_classes
    )
    parts = zip(images, originals, versions, strict=True)
    rows = [Row(path.name, original, versions) for path, original, versions in parts]
    about = f"{describe_augment(recipe, size)}, {num_classes} classes, seed {seed}"
    content = draw_picture(rows, recipe.name, about, ending)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except OSError as failed:
        refuse(WHO, f"{out} must be a file that can be written", failed.strerror)
    return out


def count_classes(data: DataSpec) -> int:
    """Return the number of classes of a recipe's data set; a folder's are counted.

    >>> count_classes(DataSpec("cifar100")), count_classes(DataSpec("cifar100", "coarse"))
    (100, 20)
    """
    if num_classes := find_dataset(WHO, data.name).num_classes:
        return num_classes[data.labels]
    root = Path(data.name.removeprefix(FOLDER)).expanduser()
    return len(list_subfolders(root / "train" if (root / "train").is_dir() else root))


def _read(path: Path, recipe: Recipe, size: int) -> Tensor:
    """Read the image's center, size x size; all of it where windows are drawn."""
    try:
        if not isinstance(recipe.augment.crop, WINDOWS):
            return read_image(str(path), size)
        return to_tensor(open_upright(open_image(str(path))))
    except Exception as broken:  # what a broken file raises depends on its format
        refuse(WHO, f"{path} must be an image that can be read", broken)
