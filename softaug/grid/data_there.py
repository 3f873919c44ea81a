"""Whether the images that runs need are there, and photographs that are there on any machine."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from softaug.data.digits import NUM_CLASSES, digits
from softaug.data.images import Images
from softaug.data.load import FOLDER, load
from softaug.data.place import data_folder
from softaug.paper.scale import PHOTOS
from softaug.recipes.pretrain import AnyRecipe

DIGITS_AS_FILES = "digits-as-files"
EDGE, NUM_TRAIN, NUM_TEST = 48, 8, 4  # pixels, images of each class


def missing_data(
    recipes: Sequence[AnyRecipe], out: Path, data_dir: Path | None
) -> dict[str, str | None]:
    """For each data set that recipes name: None if it is there, else why not and how to get it."""
    ours = _digits_name(out)
    names = {recipe.data.name for recipe in recipes}
    return {name: None if name == ours else _why_missing(name, data_dir) for name in names}


def _why_missing(name: str, data_dir: Path | None) -> str | None:
    try:
        load(name, data_dir)
    except (ValueError, OSError) as missing:
        return str(missing)
    return None


def photos_at_smoke(out: Path, data_dir: Path | None) -> str:
    """Imagenette where it is there, else the digits as files."""
    there = (data_folder(data_dir) / PHOTOS).is_dir()
    return PHOTOS if there else _digits_name(out)


def _digits_name(out: Path) -> str:
    return f"{FOLDER}{out.absolute() / DIGITS_AS_FILES}"


def needs_digits(recipes: Sequence[AnyRecipe], out: Path) -> bool:
    """Whether any of the recipes reads the digits as files."""
    return any(recipe.data.name == _digits_name(out) for recipe in recipes)


def write_digits(out: Path) -> None:
    """A few digits as PNG files in folders, so that reading files is tried on any machine."""
    splits = digits()
    for part, images, num in (("train", splits.train, NUM_TRAIN), ("val", splits.test, NUM_TEST)):
        for label in range(NUM_CLASSES):
            _write_class(out.absolute() / DIGITS_AS_FILES / part / str(label), images, label, num)


def _write_class(folder: Path, images: Images, label: int, num: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    members = (images.labels == label).nonzero().squeeze(1)[:num]
    for number, image in enumerate(images.fetch(members)):
        picture = Image.fromarray(image[0].numpy()).resize((EDGE, EDGE))
        picture.save(folder / f"{number}.png")
