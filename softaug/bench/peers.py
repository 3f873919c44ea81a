"""Peers that may or may not be installed."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from torch import Tensor

from softaug.bench.timing import Variants

Peer = Callable[[Tensor], Variants]

# albumentations asks the network for a newer version on import, if this is not set.
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")


def installed(peers: Mapping[str, Peer], images: Tensor) -> tuple[dict[str, Variants], list[str]]:
    """The variants of each peer (by module name) that is there, and the names of the others."""
    found = {name: make(images) for name, make in peers.items() if find_spec(name) is not None}
    return found, [name for name in peers if name not in found]
