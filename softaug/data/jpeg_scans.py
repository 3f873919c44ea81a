"""The scans of a JPEG, looked through for damage without being decoded: 20 us for 100 kB."""

import numpy as np

from softaug.data.jpeg_head import SCAN, Data

END = 0xD9
SCAN_LENGTHS = (8, 10, 12, 14)  # 6 and 2 for each of its 1 to 4 components
# Tables, the image's height, comments and notes of applications.
SEGMENTS = frozenset((0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0)))

_IS_MARKER = np.ones(256, dtype=bool)
_IS_MARKER[[0x00, 0xFF, *range(0xD0, 0xD8)]] = False  # after 0xff: itself, padding, restarts


def check_scans(data: Data, scan: int) -> None:
    """Raise the reason if a marker that cannot be there follows `scan`, or none ends the image.

    A decoder fills the rest of a scan with grey from a marker on; not every one says so.
    """
    after = scan
    for place in _markers(data, scan):
        if place < after:  # within a segment, which may hold any bytes
            continue
        marker = data[place + 1]
        if marker == END:
            return
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        after = place + 2 + length
        if not _can_be(marker, length, data[after : after + 1]):
            raise ValueError(f"a damaged JPEG: its image data holds a marker 0xff{marker:02x}")
    raise ValueError("a truncated JPEG: its end marker is missing")


def _can_be(marker: int, length: int, follows: Data) -> bool:
    """Whether a segment is one: a scan's head is of few lengths, the others end at a marker."""
    if marker == SCAN:
        return length in SCAN_LENGTHS
    return marker in SEGMENTS and follows in (b"\xff", b"")


def _markers(data: Data, start: int) -> list[int]:
    """Where 0xff stands before a byte that makes it a marker, in segments too."""
    found = np.frombuffer(data, np.uint8)[start:]
    places = np.flatnonzero(found[:-1] == 0xFF)
    markers: list[int] = (places[_IS_MARKER[found[places + 1]]] + start).tolist()
    return markers
