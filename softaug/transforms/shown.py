"""Which pixels of a resized window show the image, and which part of the image they show."""

import math
from typing import NamedTuple


class Shown(NamedTuple):
    """Along one edge: what is taken of the visible part, and where it is put."""

    taken: slice  # of the part's pixels
    put: slice  # of the resized window's

    @property
    def length(self) -> int:
        """Pixels of the resized window."""
        return int(self.put.stop - self.put.start)


def shown(start: int, length: int, edge: int, size: int) -> Shown:
    """What is shown of a part that fills start..start + length of a window's edge.

    The edge is resized to `size` pixels. Those that the part fills wholly show it, from the
    pixels that are nearest to their place; a part that fills none is shown by one.

    >>> shown(start=0, length=300, edge=300, size=100)  # all of it
    Shown(taken=slice(0, 300, None), put=slice(0, 100, None))
    >>> shown(start=100, length=200, edge=300, size=100)  # 100..300 are 33.3..100
    Shown(taken=slice(2, 200, None), put=slice(34, 100, None))
    """
    first, last = -(-start * size // edge), (start + length) * size // edge
    if first >= last:
        first = min(start * size // edge, size - 1)
        return Shown(slice(0, length), slice(first, first + 1))
    begin, end = (_nearest(pixel * edge / size, start, length) for pixel in (first, last))
    if begin == end:  # enlarged so much that all of it is shown by a pixel of the part
        begin, end = 0, length
    return Shown(slice(begin, end), slice(first, last))


def _nearest(place: float, start: int, length: int) -> int:
    """The edge of the part's pixels that is nearest to `place`."""
    return min(max(math.floor(place + 0.5) - start, 0), length)
