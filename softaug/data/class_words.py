"""What classes are called that a data set names by WordNet numbers."""

from collections.abc import Sequence

from torchvision.models import ResNet50_Weights

IMAGENETTE = {
    "n01440764": "tench",
    "n02102040": "English springer",
    "n02979186": "cassette player",
    "n03000684": "chain saw",
    "n03028079": "church",
    "n03394916": "French horn",
    "n03417042": "garbage truck",
    "n03425413": "gas pump",
    "n03445777": "golf ball",
    "n03888257": "parachute",
}


def class_words(names: Sequence[str]) -> list[str]:
    """Classes as people call them; names that are no known WordNet numbers stay as they are.

    `names` are in their order, as `folder` has them.

    >>> class_words(["cat", "n03445777"])
    ['cat', 'golf ball']
    """
    imagenet: list[str] = ResNet50_Weights.IMAGENET1K_V2.meta["categories"]  # in the same order
    if len(names) == len(imagenet) and set(names) >= IMAGENETTE.keys():
        return list(imagenet)
    return [IMAGENETTE.get(name, name) for name in names]
