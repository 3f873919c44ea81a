"""Files that are broken, found before anything depends on them."""

from softaug.checks import refuse
from softaug.data.folder import FolderImages
from softaug.data.image_file import open_image
from softaug.data.images import Source
from softaug.data.windows import Tries, listed

REMEDY = "restore them, or remove them before a run begins"


def check_readable(source: Source) -> None:
    """Refuse files that are no images or parts of one, all at once; images in memory are good.

    Each file is read but not decoded.
    """
    if not isinstance(source, FolderImages):
        return
    paths = [source.path(number) for number in range(len(source.files))]
    tries = Tries(paths, skip=True)
    for row, path in enumerate(paths):
        tries(row, open_image, path)
    broken = tries.reasons()
    if broken:
        rule = f"every file that is measured, in {source.root}, must be an image that can be read"
        refuse("folder", rule, f"{len(broken)} that cannot: {listed(broken)}", REMEDY)
