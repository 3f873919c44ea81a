"""`softaug show`: what a recipe's augmentation does to one's own images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro
from torch import Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.data.digits import NUM_CLASSES
from softaug.data.folder import read_image
from softaug.data.image_file import open_image
from softaug.data.imagenet import PHOTOS
from softaug.data.load import FOLDER
from softaug.data.pillow import as_tensor, upright
from softaug.data.releases import FETCHED, release_of
from softaug.data.windows import refuse_file
from softaug.evaluation.augment_words import describe_augment
from softaug.evaluation.show_draws import draw_versions
from softaug.evaluation.show_picture import MOST_LINES, Row, draw_picture, num_lines
from softaug.recipes.crops import WINDOWS
from softaug.recipes.recipe import DataSpec, Recipe
from softaug.training.command import read_recipe

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
    if data.name in FETCHED:
        return release_of(data.name).num_classes[data.labels]
    if data.name in PHOTOS:
        return PHOTOS[data.name].num_classes
    if not data.name.startswith(FOLDER):
        return NUM_CLASSES
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
        return as_tensor(upright(open_image(path)))
    except Exception as broken:  # what a broken file raises depends on its format
        refuse_file(path, broken)


def _write(content: bytes, out: Path) -> Path:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except OSError as failed:
        refuse(WHO, f"{out} must be a file that can be written", failed.strerror)
    return out
